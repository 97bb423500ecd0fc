package mock

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/internal/dialect"
)

// serveCard answers with the card of the agent: v1.0 keys, plus the older ones if the agent
// supports an older version.
func (c *call) serveCard() {
	c.record.Operation = agentCard
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		c.record.Problem = "a card is fetched by GET"
		c.begin()
		c.w.Header().Set("Allow", "GET, HEAD")
		http.Error(c.w, "a card is fetched by GET", http.StatusMethodNotAllowed)
		return
	}
	c.rest = true // errors have no envelope
	if c.scripted(agentCard) {
		return
	}
	base := cmp.Or(c.server.options.URL, "http://"+c.r.Host)
	body := marshal(c.server.card(c.agent, base, strings.HasPrefix(c.r.UserAgent(), "Go-http-client/")))
	sum := sha256.Sum256(body)
	c.begin()
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	c.w.Header().Set("Cache-Control", "max-age=0") // the next answer of the script may differ
	c.w.Header().Set("ETag", tag)
	c.w.Header().Set("Vary", "User-Agent")
	switch {
	case strings.Contains(c.r.Header.Get("If-None-Match"), tag):
		c.w.WriteHeader(http.StatusNotModified)
	case c.r.Method == http.MethodHead:
		c.w.Header().Set("Content-Type", "application/json")
	default:
		c.respond(http.StatusOK, body)
	}
}

// card builds the card of an agent. bare selects the spelling of requirements that the Go SDK
// reads.
func (s *Server) card(a *agent, base string, bare bool) object {
	o := object{
		"name": a.name, "description": "A mock agent", "version": "1.0.0",
		"defaultInputModes": []any{"text/plain", "application/json"}, "defaultOutputModes": []any{"text/plain", "application/json"},
	}
	maps.Copy(o, a.card)
	caps, _ := o["capabilities"].(object)
	o["capabilities"] = merged(object{"streaming": true, "pushNotifications": false}, caps)
	o["skills"] = a.skills(o["skills"])
	s.addInterfaces(o, a, base)
	if a.auth != nil {
		a.auth.declare(o, bare)
	}
	if a.lie != nil {
		o = merged(o, placed(a.lie, base).(object))
	}
	return o
}

// skills completes the skills of the card; if it lists none, it uses the skills named by rules.
func (a *agent) skills(given any) []any {
	var out []any
	for _, v := range listOf(given) {
		skill, ok := v.(object)
		if !ok {
			out = append(out, v)
			continue
		}
		full := object{"tags": []any{}}
		for _, name := range []string{"name", "description"} {
			full[name] = cmp.Or(text(skill, name), text(skill, "name"), text(skill, "id"))
		}
		maps.Copy(full, skill)
		out = append(out, full)
	}
	if given != nil {
		return out
	}
	out = []any{}
	seen := map[string]bool{"": true}
	for _, r := range a.rules {
		if !seen[r.skill] {
			seen[r.skill] = true
			out = append(out, object{"id": r.skill, "name": r.skill, "description": r.skill, "tags": []any{}})
		}
	}
	return out
}

func text(o object, name string) string {
	s, _ := o[name].(string)
	return s
}

func (s *Server) addInterfaces(o object, a *agent, base string) {
	rpc := base + "/a2a/" + a.name
	list := []any{}
	add := func(what, url, binding, version string) {
		if a.serves(what) {
			list = append(list, object{"url": url, "protocolBinding": binding, "protocolVersion": version})
		}
	}
	add("jsonrpc", rpc, bindingRPC, "1.0")
	add("rest", base+"/v1/a2a/"+a.name, bindingREST, "1.0")
	for _, i := range s.options.Interfaces {
		list = append(list, object{
			"url": i.URL, "protocolBinding": string(i.ProtocolBinding), "protocolVersion": string(i.ProtocolVersion),
		})
	}
	add("v0.3", rpc, bindingRPC, "0.3")
	o["supportedInterfaces"] = list
	if a.serves("v0.3") || a.derived() != dialect.V1 {
		o["url"], o["preferredTransport"], o["protocolVersion"] = rpc, bindingRPC, "0.3.0"
	}
}

// declare adds the required credential to a card, in the keys of both versions.
func (a *Auth) declare(o object, bare bool) {
	name, old := "bearer", object{"type": "http", "scheme": "bearer"}
	scheme := object{"httpAuthSecurityScheme": object{"scheme": "bearer"}}
	if a.Scheme == "api_key" {
		name, old = "apiKey", object{"type": "apiKey", "in": "header", "name": "X-API-Key"}
		scheme = object{"apiKeySecurityScheme": object{"location": "header", "name": "X-API-Key"}}
	}
	var list any = object{"list": []any{}}
	if bare {
		list = []any{}
	}
	o["securityRequirements"] = []any{object{"schemes": object{name: list}}}
	if o["url"] != nil {
		scheme = merged(scheme, old)
		o["security"] = []any{object{name: []any{}}}
	}
	o["securitySchemes"] = object{name: scheme}
}

// merged returns o with patch merged into it, member by member; null removes a member.
func merged(o, patch object) object {
	out := maps.Clone(o)
	for name, v := range patch {
		inner, isObject := v.(object)
		old, wasObject := out[name].(object)
		switch {
		case v == nil:
			delete(out, name)
		case isObject && wasObject:
			out[name] = merged(old, inner)
		default:
			out[name] = v
		}
	}
	return out
}

// placed replaces {{url}} with the server's address in all texts of v.
func placed(v any, base string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "{{url}}", base)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = placed(v[i], base)
		}
		return out
	case object:
		out := make(object, len(v))
		for name := range v {
			out[name] = placed(v[name], base)
		}
		return out
	}
	return v
}

// Describe returns a readable list of the agents of a server at url.
func (s *Server) Describe(url string) string {
	var b strings.Builder
	for _, a := range s.agents {
		var speaks []string
		for _, what := range wires() {
			if a.serves(what) {
				speaks = append(speaks, what)
			}
		}
		fmt.Fprintf(&b, "%s at %s/a2a/%s (%s), rules: %d\n", a.name, url, a.name, strings.Join(speaks, ", "), len(a.rules))
	}
	return b.String()
}
