// Package adminapi is the hub's own HTTP interface below /api/v1: what its operator
// and its command line ask, beside the protocol.
//
//	GET /api/v1/status         the hub: version, uptime, readiness, the caller's tasks
//	GET /api/v1/agents         the agents, in the order of their registration
//	GET /api/v1/agents/{name}  one agent with its card
//	GET /api/v1/keys           the API keys, without their texts
//	POST /api/v1/keys          makes a key; its text is in the answer and nowhere else
//	DELETE /api/v1/keys/{id}   revokes a key, with ?after=24h when that time has passed
//	GET /api/v1/push           the webhooks of all callers: ?task=, ?dead=true, pages
//	POST /api/v1/push/{task}/redeliver  tells webhooks again what they were not told
//
// What changes something, and everything about keys and webhooks, needs an
// administrator: a principal with the role "admin", or the anonymous caller on the
// hub's own machine, if no proxy passed the request on and it names this machine as
// its host. Other callers get 403. Requests that a page from elsewhere makes a
// browser send are refused.
//
// # Guarantees
//
// Answers are JSON, errors have the shape of the protocol's HTTP+JSON binding
// (specification §11.6). An unknown path is 404, a method that a path does not have
// is 405 with Allow. What concerns tasks is limited to those of the caller. A body is
// JSON of at most 64 KiB. No answer but that to its making holds the text of a key.
// None holds the token or the credentials of a webhook, nor the values in the query
// of its URL.
//
// # What it does not promise
//
// It does not authenticate: the front in front of it does, and puts the principal
// into the context. A request without one is refused.
//
// # Concurrency
//
// A Handler is safe for concurrent use.
//
// # Testing
//
// A Handler needs three methods of an engine and, if tasks are to be counted, an
// index; both are easily had in a test.
package adminapi

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/fault"
	"github.com/parley-a2a/parley/task"
)

// Root is the path that everything is below.
const Root = "/api/v1"

// Hub is what the API shows. An engine is one. Methods are called concurrently.
type Hub interface {
	// Agents returns the agents in the order of their registration.
	Agents() []engine.Agent
	// Agent returns the agent with a name; the empty name is the default agent.
	Agent(name task.Agent) (engine.Agent, bool)
	// Ready returns the conditions of readiness.
	Ready(ctx context.Context) []engine.Check
}

// Handler serves the API. Its fields must not change once it is in use.
type Handler struct {
	// Hub is required.
	Hub Hub
	// Tasks counts the caller's tasks. If nil, the status says nothing about tasks.
	Tasks task.Index
	// Keys are the API keys. If nil, nothing is served below /api/v1/keys.
	Keys Keys
	// Push is about webhooks. If nil, nothing is served below /api/v1/push.
	Push *Push
	// Version is that of the program.
	Version string
	// Store names the kind of store, such as "sqlite".
	Store string
	// Started is when the hub was started.
	Started time.Time
	// Logger receives a record for each error that the caller is not told. If nil,
	// nothing is logged.
	Logger *slog.Logger
}

var _ http.Handler = (*Handler)(nil)

// errNoPath is about the request; errNoAgent is what this API has beside the errors
// of the protocol.
var (
	errNoPath  = fault.New(a2a.ErrMethodNotFound, "nothing is served at this path")
	errNoAgent = dialect.Report{
		Row:     dialect.Row{HTTP: http.StatusNotFound, GRPC: dialect.NotFound, Reason: "AGENT_NOT_FOUND"},
		Message: "no such agent",
	}
)

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := h.route(r.URL.Path)
	serve := e.serves(r.Method)
	switch allow := e.allow(); {
	case allow == "":
		h.fail(w, r, errNoPath)
	case serve == nil:
		w.Header().Set("Allow", allow)
		report := dialect.Explain(fault.New(a2a.ErrMethodNotFound, "method %s is not allowed here; allowed: %s", r.Method, allow), "")
		report.HTTP = http.StatusMethodNotAllowed
		refuse(w, r, &report)
	case auth.PrincipalFrom(r.Context()) == nil:
		h.fail(w, r, auth.ErrUnauthenticated)
	default:
		if err := e.admit(r, h.keyed); err != nil {
			h.fail(w, r, err)
			return
		}
		serve(w, r)
	}
}

// route returns what a path serves, which is nothing for an unknown path.
func (h *Handler) route(path string) endpoint {
	below, _ := strings.CutPrefix(path, Root)
	switch below {
	case "/status":
		return endpoint{get: h.status}
	case "/agents":
		return endpoint{get: h.agents}
	case "/keys":
		if h.Keys != nil {
			return endpoint{get: h.listKeys, post: h.addKey, secret: true}
		}
	}
	if e := h.pushRoute(below); e.allow() != "" {
		return e
	}
	family, name, _ := strings.Cut(strings.TrimPrefix(below, "/"), "/")
	if name == "" || strings.Contains(name, "/") {
		return endpoint{}
	}
	switch {
	case family == "agents":
		return endpoint{get: func(w http.ResponseWriter, r *http.Request) { h.agent(w, r, task.Agent(name)) }}
	case family == "keys" && h.Keys != nil:
		return endpoint{delete: func(w http.ResponseWriter, r *http.Request) { h.revokeKey(w, r, name) }, secret: true}
	}
	return endpoint{}
}

// answer writes v.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		h.fail(w, r, fmt.Errorf("encode answer: %w", err))
		return
	}
	write(w, r, http.StatusOK, b)
}

// fail answers with an error. One whose text is kept from the caller is logged under
// the reference that the caller gets.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	report := dialect.Explain(err, "")
	if report.Hidden {
		reference := uuid.NewString()
		report = dialect.Explain(err, reference)
		if h.Logger != nil {
			h.Logger.Error("request failed", "method", r.Method, "path", r.URL.Path, "reference", reference, "error", err)
		}
	}
	refuse(w, r, &report)
}

func refuse(w http.ResponseWriter, r *http.Request, report *dialect.Report) {
	write(w, r, report.HTTP, report.AppendREST(nil))
}

func write(w http.ResponseWriter, r *http.Request, code int, b []byte) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(b)))
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_, _ = w.Write(b) // whoever asked is gone; nobody is left to be told
	}
}
