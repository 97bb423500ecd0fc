package mock

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
)

// serves reports whether the agent answers in the given shape.
func (a *agent) serves(what string) bool { return len(a.serve) == 0 || a.serve[what] }

// derived returns the dialect derived from v0.3 in which the agent answers, or V1 if there is none.
func (a *agent) derived() dialect.Shape {
	for _, d := range derived() {
		if a.serves(d.Name) {
			return d.Shape
		}
	}
	return dialect.V1
}

// serveRPC answers JSON-RPC: PascalCase methods are v1.0, methods with a slash are older.
func (c *call) serveRPC() {
	if c.r.Method != http.MethodPost {
		c.record.Problem = "only POST is allowed here"
		c.begin()
		c.w.Header().Set("Allow", http.MethodPost)
		http.Error(c.w, "JSON-RPC is called by POST", http.StatusMethodNotAllowed)
		return
	}
	c.record.Binding = bindingRPC
	o, params, err := c.readRPC()
	if err != nil {
		c.fail(err)
		return
	}
	c.record.Operation = o.String()
	c.operate(o, params)
}

// readRPC reads the request and converts its params to v1.0.
func (c *call) readRPC() (dialect.Operation, []byte, error) {
	if err := c.read(); err != nil {
		return 0, nil, err
	}
	var d dialect.Decoder
	q, err := d.Call(c.body)
	c.id = q.ID
	if err != nil {
		return 0, nil, err
	}
	if strings.Contains(q.Method, "/") {
		return c.readLegacy(q)
	}
	o, err := dialect.Lookup(q.Method)
	switch {
	case err != nil:
		return 0, nil, err
	case !c.agent.serves("jsonrpc"):
		return 0, nil, apierror.New(a2a.ErrMethodNotFound, "method not found: the agent does not speak v1.0 here")
	}
	c.record.Operation = o.String()
	return o, q.Params, dialect.Version(c.r.Header.Values("A2A-Version"), dialect.RPC)
}

// readLegacy reads a call of an older method.
func (c *call) readLegacy(q dialect.Call) (o dialect.Operation, v1 []byte, err error) {
	version := c.r.Header.Get("A2A-Version")
	if o, c.shape, err = c.recognize(q, version); err != nil {
		return 0, nil, err
	}
	c.record.Operation = o.String()
	params := object{}
	if len(q.Params) > 0 {
		v, err := decodeJSON(q.Params)
		if err != nil {
			return 0, nil, apierror.New(a2a.ErrInvalidParams, "params: %v", err)
		}
		params, _ = v.(object)
	}
	switch {
	case !c.agent.serves(c.shape.String()):
		return 0, nil, apierror.New(a2a.ErrMethodNotFound, "method not found: the agent does not speak %s here", c.shape)
	case version != "" && !strings.HasPrefix(version, "0.3"):
		return 0, nil, apierror.New(a2a.ErrMethodNotFound, "method not found: %q is of version 0.3, A2A-Version says %q", clip(q.Method), clip(version))
	}
	if params, err = modern(params); err != nil {
		return 0, nil, err
	}
	return o, marshal(params), nil
}

// serveREST answers v1.0 HTTP+JSON; path is the part after /v1/a2a/.
func (c *call) serveREST(path string) {
	c.agent = c.server.agents[0]
	if first, rest, ok := strings.Cut(path, "/"); ok {
		if a := c.server.agentNamed(first); a != nil {
			c.agent, path = a, rest
		}
	}
	o, id, ok := restOperation(c.r.Method, path)
	if !ok || !c.agent.serves("rest") {
		c.notFound()
		return
	}
	c.record.Binding, c.record.Operation = bindingREST, o.String()
	params, err := c.readREST(o, id)
	if err != nil {
		c.fail(err)
		return
	}
	c.operate(o, params)
}

// readREST builds params from the path, the query and the body.
func (c *call) readREST(o dialect.Operation, id string) ([]byte, error) {
	if err := c.read(); err != nil {
		return nil, err
	}
	q := c.r.URL.Query()
	if err := dialect.Version(append(c.r.Header.Values("A2A-Version"), q.Get("A2A-Version")), dialect.REST); err != nil {
		return nil, err
	}
	params := object{}
	if len(c.body) > 0 {
		var d dialect.Decoder
		if err := d.Body(c.body); err != nil {
			return nil, err
		}
		v, err := decodeJSON(c.body)
		if err != nil {
			return nil, apierror.New(a2a.ErrParseError, "%v", err)
		}
		params, _ = v.(object)
	} else if o == dialect.SendMessage || o == dialect.SendStreamingMessage {
		return nil, apierror.New(a2a.ErrParseError, "the body is empty")
	}
	for name := range q {
		switch v := q.Get(name); {
		case name == "A2A-Version":
		case v == "true" || v == "false":
			params[name] = v == "true"
		default:
			params[name] = v
		}
	}
	if id != "" {
		params["id"] = id
	}
	return marshal(params), nil
}

// restOperation returns the operation of a method and path, and the id of the task in it.
func restOperation(method, path string) (o dialect.Operation, id string, ok bool) {
	switch method + " " + path {
	case "POST message:send":
		return dialect.SendMessage, "", true
	case "POST message:stream":
		return dialect.SendStreamingMessage, "", true
	case "GET tasks":
		return dialect.ListTasks, "", true
	case "GET extendedAgentCard":
		return dialect.GetExtendedAgentCard, "", true
	}
	id, ok = strings.CutPrefix(path, "tasks/")
	if !ok || id == "" {
		return 0, "", false
	}
	if strings.Contains(id, "/pushNotificationConfigs") {
		return dialect.ListPushConfigs, "", true
	}
	o = dialect.GetTask
	if task, verb, found := cutLast(id, ":"); found {
		switch method + " " + verb {
		case "POST cancel":
			o, id = dialect.CancelTask, task
		case "POST subscribe", "GET subscribe":
			o, id = dialect.SubscribeToTask, task
		}
	}
	if unescaped, err := url.PathUnescape(id); err == nil {
		id = unescaped
	}
	return o, id, method == http.MethodGet || o != dialect.GetTask
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Example returns a shell command that calls an agent of a server at url.
func (s *Server) Example(url string) string {
	a := s.agents[0]
	skill, text := a.sample()
	switch {
	case a.serves("rest"):
		return fmt.Sprintf(`curl %s/v1/a2a/%s/message:send -H 'A2A-Version: 1.0' -H 'Content-Type: application/json' \
  -d '{"message":{"messageId":"1","role":"ROLE_USER",%s"parts":[{"text":"%s"}]}}'`, url, a.name, skill, text)
	case a.serves("jsonrpc"):
		return fmt.Sprintf(`curl %s/a2a/%s -H 'A2A-Version: 1.0' -H 'Content-Type: application/json' \
  -d '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER",%s"parts":[{"text":"%s"}]}}}'`,
			url, a.name, skill, text)
	}
	kind := ""
	if a.serves("v0.3") {
		kind = `"kind":"text",`
	}
	return fmt.Sprintf(`curl %s/a2a/%s -H 'Content-Type: application/json' \
  -d '{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"1","role":"user",%s"parts":[{%s"text":"%s"}]}}}'`,
		url, a.name, skill, kind, text)
}

// plain matches texts that need no escapes between quotes in JSON and in a shell.
var plain = regexp.MustCompile(`^[\w .,:;?!-]+$`)

// sample returns metadata that request the skill of the first rule with a plain text, and that
// text.
func (a *agent) sample() (skill, text string) {
	for _, r := range a.rules {
		if r.skill != "" {
			skill = fmt.Sprintf(`"metadata":{"skillId":"%s"},`, r.skill)
		}
		if text, ok := r.match.sample(); ok && plain.MatchString(r.skill+text) {
			return skill, text
		}
		skill = ""
	}
	return "", "hello"
}

// sample returns a text that m matches in the first turn; false if none is easily found.
func (m *matcher) sample() (string, bool) {
	texts := []string{"hello"}
	if m != nil {
		texts = []string{"hello", m.equals, m.contains}
	}
	for _, text := range texts {
		if text != "" && m.matches(&matchInput{text: text, turn: 1}) {
			return text, true
		}
	}
	return "", false
}
