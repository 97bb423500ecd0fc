package httpfront

import (
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/internal/blobstore"
)

// place is what a path names, without regard to the HTTP method.
type place uint8

const (
	nowhere place = iota
	// atGuest is where a surface says itself what it allows.
	atGuest
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
	numPlaces
)

// allow lists the methods of each place, as the Allow header wants them.
var allow = [numPlaces]string{
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
}

// route is a path taken apart. Its strings are percent-decoded.
type route struct {
	place place
	// rpc says that errors have the shape of JSON-RPC.
	rpc bool
	// legacy says that the path is one of HTTP+JSON of v0.3.
	legacy bool
	// agent is the name in the path; empty means the default agent.
	agent  string
	task   string
	config string
	// digest is that of a part.
	digest blobstore.Digest
}

// allows reports whether the place has the method, which is one of list.
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
	return r.place == atAPI || r.place == atCallback
}

const (
	wellKnown   = ".well-known"
	pushConfigs = "pushNotificationConfigs"
	// job is the one operation of RockBot's agents.
	job = "tasks/send"
	// callbacks is where agents elsewhere tell about their tasks.
	callbacks = "/api/a2a/callback/"
	// below is what PromptKit's clients add to the URL of an agent.
	below = "a2a"
)

// parsePath takes an escaped path apart. Words of the protocol win over agents of
// the same name, so those names are reserved.
func parsePath(path string) route {
	switch path {
	case "/", "/a2a", "/a2a/":
		return route{place: atRPC, rpc: true}
	case "/healthz":
		return route{place: atHealth}
	case "/readyz":
		return route{place: atReady}
	case "/metrics":
		return route{place: atMetrics}
	case "/mcp":
		return route{place: atMCP}
	case "/" + wellKnown + "/jwks.json":
		return route{place: atKeySet}
	case "/" + wellKnown + "/openid-configuration":
		return route{place: atMetadata}
	case "/" + job, "/a2a/" + job:
		return route{place: atJob}
	}
	if tail, ok := strings.CutPrefix(path, "/v1/a2a/"); ok {
		return parseREST(tail)
	}
	if tail, ok := strings.CutPrefix(path, "/a2a/"); ok {
		return parseRPC(tail)
	}
	if tail, ok := strings.CutPrefix(path, blobstore.Place); ok {
		return parsePart(tail)
	}
	if tail, ok := strings.CutPrefix(path, "/v1/"); ok {
		return parseLegacy(tail)
	}
	if tail, ok := strings.CutPrefix(path, "/"+wellKnown+"/"); ok {
		return route{place: cardPlace(tail)}
	}
	if strings.HasPrefix(path, "/api/v1/") || path == "/api/v1" {
		return route{place: atAPI}
	}
	if strings.HasPrefix(path, callbacks) {
		return route{place: atCallback}
	}
	return route{}
}

// parseRPC reads what follows /a2a/.
func parseRPC(tail string) route {
	head, tail, more := strings.Cut(tail, "/")
	if head == wellKnown {
		return route{place: cardPlace(tail)}
	}
	r := route{rpc: true}
	agent, ok := decode(head)
	if !ok {
		return r
	}
	switch name, found := strings.CutPrefix(tail, wellKnown+"/"); {
	case found:
		r = route{place: cardPlace(name)}
	case !more || tail == "" || tail == below:
		r.place = atRPC
	case tail == job:
		r = route{place: atJob}
	case strings.HasPrefix(tail, "v1/"):
		r = parseLegacy(strings.TrimPrefix(tail, "v1/"))
	}
	r.agent = agent
	return r
}

// parseREST reads what follows /v1/a2a/ (specification §11.3).
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

// parseLegacy reads what follows /v1/ in v0.3, which has no list of tasks and no agents
// in paths: their names stand before it.
func parseLegacy(tail string) route {
	first, rest, more := strings.Cut(tail, "/")
	word, ok := decode(first)
	switch {
	case !ok:
		return route{}
	case word == "card" && !more:
		return route{place: atExtendedCard, legacy: true}
	}
	r := parseResource(word, rest, more)
	switch r.place {
	case atTasks, atExtendedCard, atCard, atLegacyCard, nowhere:
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
		return route{place: cardPlace(rest)}
	case more:
		return route{}
	case word == "tasks":
		return route{place: atTasks}
	case word == "message:send":
		return route{place: atSend}
	case word == "message:stream":
		return route{place: atStream}
	case word == "extendedAgentCard":
		return route{place: atExtendedCard}
	}
	return route{}
}

// parseTask reads what follows tasks/. A task id may contain colons, so only a
// known verb behind the last one counts, and only if it is not escaped.
func parseTask(tail string) route {
	id, rest, more := strings.Cut(tail, "/")
	r := route{place: atTask}
	switch {
	case more:
		r.place, r.config = parsePush(rest)
	case strings.HasSuffix(id, ":cancel"):
		r.place, id = atCancel, strings.TrimSuffix(id, ":cancel")
	case strings.HasSuffix(id, ":subscribe"):
		r.place, id = atSubscribe, strings.TrimSuffix(id, ":subscribe")
	}
	var ok bool
	if r.task, ok = decode(id); !ok {
		return route{}
	}
	return r
}

// parsePush reads what follows tasks/{id}/.
func parsePush(tail string) (place, string) {
	word, rest, more := strings.Cut(tail, "/")
	if word != pushConfigs {
		return nowhere, ""
	}
	if !more {
		return atPushConfigs, ""
	}
	id, ok := decode(rest)
	if !ok || strings.Contains(rest, "/") {
		return nowhere, ""
	}
	return atPushConfig, id
}

// parsePart reads what follows blobstore.Place: the id of a task and a digest, which is written
// in one way alone.
func parsePart(tail string) route {
	id, digest, ok := blobstore.ParsePlace(tail)
	if !ok {
		return route{}
	}
	return route{place: atPart, task: string(id), digest: digest}
}

func cardPlace(file string) place {
	switch file {
	case "agent-card.json":
		return atCard
	case "agent.json":
		return atLegacyCard
	}
	return nowhere
}

// decode undoes percent-encoding. An empty segment names nothing.
func decode(segment string) (string, bool) {
	if segment == "" || strings.IndexByte(segment, '%') < 0 {
		return segment, segment != ""
	}
	s, err := url.PathUnescape(segment)
	return s, err == nil
}
