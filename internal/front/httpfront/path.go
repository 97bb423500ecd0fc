package httpfront

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/internal/blobstore"
)

// kind is the kind of resource that a path names, regardless of the HTTP method.
type routeKind uint8

const (
	noRoute routeKind = iota
	// atSurface is a path whose methods a surface defines itself.
	atSurface
	atRPC
	atSend
	atStream
	atTasks
	atTask
	atCancel
	atSubscribe
	atPushConfigs
	atPushConfig
	atExtendedCard
	atCard
	atLegacyCard
	atHealth
	atReady
	atAPI
	atCallback
	atJob
	atMetrics
	atMCP
	atKeySet
	atMetadata
	atPart
	atConsole
	// atDescription is the description of the API, which needs no credentials.
	atDescription
	// atEntrance is the address of the hub, opened with a browser.
	atEntrance
	numKinds
)

// allow lists the methods of each kind, in the form of the Allow header.
var allow = [numKinds]string{
	atRPC:          "POST",
	atSend:         "POST",
	atStream:       "POST",
	atTasks:        "GET",
	atTask:         "GET",
	atCancel:       "POST",
	atSubscribe:    "GET, POST",
	atPushConfigs:  "GET, POST",
	atPushConfig:   "GET, DELETE",
	atExtendedCard: "GET",
	atCard:         "GET, HEAD, OPTIONS",
	atLegacyCard:   "GET, HEAD, OPTIONS",
	atHealth:       "GET, HEAD",
	atReady:        "GET, HEAD",
	atJob:          "POST",
	atMetrics:      "GET, HEAD",
	atMCP:          "GET, POST, DELETE",
	atKeySet:       "GET, HEAD, OPTIONS",
	atMetadata:     "GET, HEAD, OPTIONS",
	atPart:         "GET, HEAD",
	atConsole:      "GET, HEAD, POST",
	atDescription:  "GET, HEAD",
	atEntrance:     "GET, HEAD",
}

// route is a parsed path. Its strings are percent-decoded.
type route struct {
	kind routeKind
	// rpc states that errors have the shape of JSON-RPC.
	rpc bool
	// legacy states that the path is one of HTTP+JSON of v0.3.
	legacy bool
	// agent is the name in the path; empty means the default agent.
	agent  string
	task   string
	config string
	// digest is the digest of a part.
	digest blobstore.Digest
}

// allows reports whether list contains the method.
func (r *route) allows(method, list string) bool {
	if list == method {
		return true
	}
	for len(list) > 0 {
		var m string
		if m, list, _ = strings.Cut(list, ", "); m == method {
			return true
		}
	}
	return r.kind == atAPI || r.kind == atCallback
}

const (
	wellKnown   = ".well-known"
	pushConfigs = "pushNotificationConfigs"
	// job is the one operation of an agent's jobs.
	job = "tasks/send"
	// callbacks is where remote agents send notifications about their tasks.
	callbacks = "/api/a2a/callback/"
	// below is the segment that some clients append to the URL of an agent.
	below = "a2a"
)

// prefixOf returns the path of a public URL without a slash at its end.
func prefixOf(publicURL string) string {
	u, err := url.Parse(publicURL)
	if err != nil {
		return ""
	}
	return strings.TrimRight(u.EscapedPath(), "/")
}

// find finds what serves the path. A proxy may keep or remove the path of the public URL: if nothing
// is served at a path with that prefix, the prefix is removed.
func (x *exchange) find() {
	path := x.r.URL.EscapedPath()
	x.route = parsePath(path)
	x.welcome()
	tail, ok := strings.CutPrefix(path, x.front.prefix)
	if x.route.kind != noRoute || !ok || tail == path || tail != "" && tail[0] != '/' {
		return
	}
	inner := *x.r.URL
	inner.RawPath = cmp.Or(tail, "/")
	inner.Path, _ = url.PathUnescape(inner.RawPath) // escaped by EscapedPath
	x.r.URL = &inner
	x.route = parsePath(inner.RawPath)
	x.welcome()
}

// entrance reports whether a person has opened the address of a hub that has a console.
func (x *exchange) entrance() bool {
	return x.r.URL.Path == "/" && x.route.kind == atRPC && x.front.cfg.Console != nil &&
		(x.r.Method == http.MethodGet || x.r.Method == http.MethodHead) && strings.Contains(x.r.Header.Get("Accept"), "text/html")
}

// parsePath parses an escaped path. Words of the protocol take precedence over agents of the
// same name, so those names are reserved.
func parsePath(path string) route {
	switch path {
	case "/", "/a2a", "/a2a/":
		return route{kind: atRPC, rpc: true}
	case "/healthz":
		return route{kind: atHealth}
	case "/readyz":
		return route{kind: atReady}
	case "/metrics":
		return route{kind: atMetrics}
	case "/mcp":
		return route{kind: atMCP}
	case "/api/v1/openapi.json":
		return route{kind: atDescription}
	case "/" + wellKnown + "/jwks.json":
		return route{kind: atKeySet}
	case "/" + wellKnown + "/openid-configuration":
		return route{kind: atMetadata}
	case "/" + job, "/a2a/" + job:
		return route{kind: atJob}
	}
	if tail, ok := strings.CutPrefix(path, "/v1/a2a/"); ok {
		return parseREST(tail)
	}
	if tail, ok := strings.CutPrefix(path, "/a2a/"); ok {
		return parseRPC(tail)
	}
	if tail, ok := strings.CutPrefix(path, blobstore.PathPrefix); ok {
		return parsePart(tail)
	}
	if tail, ok := strings.CutPrefix(path, "/v1/"); ok {
		return parseLegacy(tail)
	}
	if tail, ok := strings.CutPrefix(path, "/"+wellKnown+"/"); ok {
		return route{kind: cardKind(tail)}
	}
	if strings.HasPrefix(path, "/api/v1/") || path == "/api/v1" {
		return route{kind: atAPI}
	}
	if strings.HasPrefix(path, "/console/") || path == "/console" {
		return route{kind: atConsole}
	}
	if strings.HasPrefix(path, callbacks) {
		return route{kind: atCallback}
	}
	return route{}
}

// parseRPC parses the part after /a2a/.
func parseRPC(tail string) route {
	head, tail, more := strings.Cut(tail, "/")
	if head == wellKnown {
		return route{kind: cardKind(tail)}
	}
	r := route{rpc: true}
	agent, ok := decode(head)
	if !ok {
		return r
	}
	switch name, found := strings.CutPrefix(tail, wellKnown+"/"); {
	case found:
		r = route{kind: cardKind(name)}
	case !more || tail == "" || tail == below:
		r.kind = atRPC
	case tail == job:
		r = route{kind: atJob}
	case strings.HasPrefix(tail, "v1/"):
		r = parseLegacy(strings.TrimPrefix(tail, "v1/"))
	}
	r.agent = agent
	return r
}

// parseREST parses the part after /v1/a2a/ (specification §11.3).
func parseREST(tail string) route {
	first, rest, more := strings.Cut(tail, "/")
	word, ok := decode(first)
	if !ok {
		return route{}
	}
	var agent string
	if !reserved(word) {
		if !more {
			return route{}
		}
		agent = word
		first, rest, more = strings.Cut(rest, "/")
		if word, ok = decode(first); !ok {
			return route{}
		}
	}
	r := parseResource(word, rest, more)
	r.agent = agent
	return r
}

// parseLegacy parses the part after /v1/ in v0.3, which has no list of tasks. The name of an
// agent precedes it.
func parseLegacy(tail string) route {
	first, rest, more := strings.Cut(tail, "/")
	word, ok := decode(first)
	switch {
	case !ok:
		return route{}
	case word == "card" && !more:
		return route{kind: atExtendedCard, legacy: true}
	}
	r := parseResource(word, rest, more)
	switch r.kind {
	case atTasks, atExtendedCard, atCard, atLegacyCard, noRoute:
		return route{}
	}
	r.legacy = true
	return r
}

// reserved reports whether word cannot be an agent in a path of HTTP+JSON.
func reserved(word string) bool {
	switch word {
	case "tasks", "message:send", "message:stream", "extendedAgentCard", wellKnown:
		return true
	}
	return false
}

func parseResource(word, rest string, more bool) route {
	switch {
	case word == "tasks" && more:
		return parseTask(rest)
	case word == wellKnown && more:
		return route{kind: cardKind(rest)}
	case more:
		return route{}
	case word == "tasks":
		return route{kind: atTasks}
	case word == "message:send":
		return route{kind: atSend}
	case word == "message:stream":
		return route{kind: atStream}
	case word == "extendedAgentCard":
		return route{kind: atExtendedCard}
	}
	return route{}
}

// parseTask parses the part after tasks/. A task id may contain colons, so only a known verb
// after the last colon counts, and only if it is not escaped.
func parseTask(tail string) route {
	id, rest, more := strings.Cut(tail, "/")
	r := route{kind: atTask}
	switch {
	case more:
		r.kind, r.config = parsePush(rest)
	case strings.HasSuffix(id, ":cancel"):
		r.kind, id = atCancel, strings.TrimSuffix(id, ":cancel")
	case strings.HasSuffix(id, ":subscribe"):
		r.kind, id = atSubscribe, strings.TrimSuffix(id, ":subscribe")
	}
	var ok bool
	if r.task, ok = decode(id); !ok {
		return route{}
	}
	return r
}

// parsePush parses the part after tasks/{id}/.
func parsePush(tail string) (routeKind, string) {
	word, rest, more := strings.Cut(tail, "/")
	if word != pushConfigs {
		return noRoute, ""
	}
	if !more {
		return atPushConfigs, ""
	}
	id, ok := decode(rest)
	if !ok || strings.Contains(rest, "/") {
		return noRoute, ""
	}
	return atPushConfig, id
}

// parsePart parses the part after blobstore.PathPrefix: the id of a task and a digest in its only
// valid spelling.
func parsePart(tail string) route {
	id, digest, ok := blobstore.ParsePath(tail)
	if !ok {
		return route{}
	}
	return route{kind: atPart, task: string(id), digest: digest}
}

func cardKind(file string) routeKind {
	switch file {
	case "agent-card.json":
		return atCard
	case "agent.json":
		return atLegacyCard
	}
	return noRoute
}

// decode reverses percent-encoding. An empty segment is invalid.
func decode(segment string) (string, bool) {
	if segment == "" || strings.IndexByte(segment, '%') < 0 {
		return segment, segment != ""
	}
	s, err := url.PathUnescape(segment)
	return s, err == nil
}
