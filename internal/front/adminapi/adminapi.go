// Package adminapi is the hub's own HTTP interface below /api/v1: what its operator
// and its command line ask, beside the protocol.
//
//	GET /api/v1/status         the hub: version, uptime, readiness, the caller's tasks, the bus
//	GET /api/v1/agents         the agents, in the order of their registration
//	POST /api/v1/agents        registers an agent elsewhere
//	GET /api/v1/agents/{name}  one agent with its card
//	PUT /api/v1/agents/{name}  registers it, or changes its registration
//	DELETE /api/v1/agents/{name}  removes an agent that was registered
//	POST /api/v1/agents/{name}/probe    asks whether it answers
//	POST /api/v1/agents/{name}/refresh  reads its card again
//	POST /api/v1/agents/{name}/pause    gives it no further messages: they wait
//	POST /api/v1/agents/{name}/resume   gives it messages again
//	POST /api/v1/tasks/{id}/redrive     dispatches the message of a task again
//	POST /api/v1/tasks/{id}/fail        ends a task as FAILED, with a reason
//	POST /api/v1/tasks/{id}/reassign    gives a task that waits to another agent
//	GET /api/v1/dead           what queues have given up: ?queue=, ?task=, pages
//	GET, DELETE /api/v1/dead/{id}       one letter with its envelope; forgets it
//	POST /api/v1/dead/{id}/replay       publishes it again
//	GET /api/v1/tasks          the caller's tasks with their agents: ?agent=, ?context=, ?state=, pages
//	GET /api/v1/tasks/{id}     one of them
//	GET /api/v1/tasks/{id}/tree         a task of the caller and those that it has delegated
//	GET /api/v1/tasks/{id}/tree/events  the same, and each that moves, as Server-Sent Events
//	GET /api/v1/search         agents and MCP servers for ?q=, best first: ?limit=
//	GET /api/v1/costs          what tasks have cost: ?agent=, ?skill=, ?minSamples=
//	GET /api/v1/confidences    how sure agents were, by the same filters
//	GET /api/v1/keys           the API keys, without their texts
//	POST /api/v1/keys          makes a key; its text is in the answer and nowhere else
//	DELETE /api/v1/keys/{id}   revokes a key, with ?after=24h when that time has passed
//	GET /api/v1/push           the webhooks of all callers: ?task=, ?dead=true, pages
//	GET /api/v1/memory         the caller's notes: ?prefix=, category=, limit=, after=
//	GET /api/v1/memory/events  the caller's notes and each that is set, as Server-Sent Events: ?prefix=, category=
//	GET /api/v1/memory/search  ?q=, category=, tag=, namespace=, limit=
//	GET, PUT, DELETE /api/v1/memory/note  one note: ?key=; DELETE also takes ?prefix=
//	DELETE /api/v1/memory/session         ends a session: ?id=
//	GET /api/v1/memory/conversation       what was said in a context: ?context=
//	POST /api/v1/push/{task}/redeliver  tells webhooks again what they were not told
//	GET /api/v1/audit          the audit log: ?actor=, action=, task=, agent=, since=, until=, after=, limit=
//	GET /api/v1/inbox          what waits for a person: ?state=, ?kind=, pages
//	POST /api/v1/inbox         puts a question of the caller to whoever looks there
//	GET /api/v1/inbox/{id}     one item of it
//	GET /api/v1/inbox/events   items that are put or settled, as Server-Sent Events
//	POST /api/v1/inbox/{id}/answer, approve, refuse  settles an item
//	GET /api/v1/trust          how far callers and agents are trusted
//	POST /api/v1/trust         changes that for one of them
//
// What changes something, and everything about keys, webhooks and trust, needs an
// administrator. So does where an agent is and how it does, which others are not shown. But
// notes and conversations belong to the caller, who may change them, and who owns a task
// sees the questions about it in the inbox, and may answer them.
// An administrator is a principal with the role "admin", or the anonymous caller on the
// hub's own machine, if no proxy passed the request on and it names this machine as
// its host. Other callers get 403. With a policy, callers may do what it allows them, too, and
// administrators what it does not deny (docs/policy.md). Requests that a page from elsewhere makes a
// browser send are refused.
//
// # Guarantees
//
// Answers are JSON, errors have the shape of the protocol's HTTP+JSON binding
// (specification §11.6). An unknown path is 404, as is one with empty or dotted elements; a
// method that a path does not have is 405 with Allow. What concerns tasks is limited to those of the caller. A body is
// JSON of at most 64 KiB, but 8 MiB for a note. No answer but that to its making holds the text of a key.
// None holds the token or the credentials of a webhook, nor the values in the query
// of its URL. With an audit log, a change is written down before it is made, and what came
// of it before it is told; one that cannot be written down is not made.
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
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent/memory"
	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/bus/deadletter"
	"github.com/parley-a2a/parley/inbox"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/broker"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/operator"
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
	// Reach returns the interfaces of an agent for its card. If nil, cards have none.
	Reach func(name task.Agent) []*a2a.AgentInterface
	// Tasks counts the caller's tasks. If nil, the status says nothing about tasks.
	Tasks task.Index
	// Trees shows tasks with those below them. If nil, no trees are served.
	Trees Trees
	// Reader knows the tasks of callers. If nil, nothing is served at /api/v1/tasks and for
	// single ones.
	Reader TaskReader
	// Keys are the API keys. If nil, nothing is served below /api/v1/keys.
	Keys Keys
	// Directory knows the agents that are elsewhere. If nil, there are none, and none can
	// be registered or searched for.
	Directory *directory.Directory
	// Broker knows how tasks have ended. If nil, nothing is told of costs.
	Broker *broker.Broker
	// Push is about webhooks. If nil, nothing is served below /api/v1/push.
	Push *Push
	// Inbox is what waits for a person. If nil, nothing is served below /api/v1/inbox.
	Inbox *inbox.Inbox
	// MCPServers returns the MCP servers that the hub keeps running. If nil, there are none.
	MCPServers func() []MCPServer
	// Control is what an operator does to tasks and agents. If nil, nothing is.
	Control *operator.Desk
	// Bus is the hub's place on a bus. If nil, it has none.
	Bus *Bus
	// Dead are the dead letters of the bus. If nil, the hub has no bus, and requests below
	// /api/v1/dead are answered with an error that says so.
	Dead *deadletter.Desk
	// Active is called when an administrator looks at the inbox or settles something. It
	// may be nil.
	Active func()
	// Trust is whom the hub trusts. If nil, nothing is served at /api/v1/trust.
	Trust Trust
	// Policy says which caller may do what. If nil, administrators may do everything here, and
	// others what is said above.
	Policy *policy.Policy
	// Memory is what the hub remembers. If nil, nothing is served below /api/v1/memory.
	Memory *Memory
	// Audit writes down what is asked for. If nil, nobody does.
	Audit Auditor
	// AuditLog is where. If nil, nothing is served at /api/v1/audit.
	AuditLog *AuditLog
	// Version is that of the program.
	Version string
	// Store names the kind of store, such as "sqlite".
	Store string
	// Started is when the hub was started.
	Started time.Time
	// Logger receives a record for each error that the caller is not told. If nil,
	// nothing is logged.
	Logger *slog.Logger

	once sync.Once
	mux  *http.ServeMux
}

var _ http.Handler = (*Handler)(nil)

// errNoPath is about the request; errNoAgent is what this API has beside the errors
// of the protocol.
var (
	errNoPath  = apierror.New(a2a.ErrMethodNotFound, "nothing is served at this path")
	errNoAgent = dialect.Report{
		Row:     dialect.Row{HTTP: http.StatusNotFound, GRPC: dialect.NotFound, Reason: "AGENT_NOT_FOUND"},
		Message: "no such agent",
	}
)

// maxNamed is how much of a name an answer repeats, in characters.
const maxNamed = 100

// refusal is an error with all that the caller learns of it.
type refusal dialect.Report

func (e *refusal) Error() string { return e.Message }

// refuse returns a report as an error.
func refuse(report dialect.Report) error { return (*refusal)(&report) }

// refuseRow returns an error with the text of another.
func refuseRow(row dialect.Row, err error) error {
	return refuse(dialect.Report{Row: row, Message: err.Error()})
}

// named returns the error that something is not there, with the name that the caller gave.
func named(report dialect.Report, name string) error {
	report.Message += fmt.Sprintf(" as %q", memory.Clip(name, maxNamed))
	return refuse(report)
}

// result returns the answer to a request.
func (h *Handler) result(r *http.Request, c call) (code int, body []byte) {
	v, err := c(r)
	if err == nil {
		body, err = json.Marshal(v)
		if err == nil {
			return http.StatusOK, body
		}
		err = fmt.Errorf("encode answer: %w", err)
	}
	report := h.explain(r, err)
	if d := deedOf(r); d != nil {
		d.Reason = report.Reason
	}
	return report.HTTP, report.AppendREST(nil)
}

// fail answers with an error.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	report := h.explain(r, err)
	write(w, r, report.HTTP, report.AppendREST(nil))
}

// explain returns the report of an error. One whose text is kept from the caller is logged under
// the reference that the caller gets.
func (h *Handler) explain(r *http.Request, err error) dialect.Report {
	var refused *refusal
	if errors.As(err, &refused) {
		return dialect.Report(*refused)
	}
	report := dialect.Explain(err, "")
	if !report.Hidden {
		return report
	}
	reference, level := uuid.NewString(), slog.LevelError
	if ctx := r.Context(); ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		level = slog.LevelDebug // its caller waits no longer
	}
	if h.Logger != nil {
		h.Logger.Log(r.Context(), level, "request failed", "method", r.Method, "path", r.URL.Path, "reference", reference, "error", err)
	}
	return dialect.Explain(err, reference)
}

func write(w http.ResponseWriter, r *http.Request, code int, b []byte) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(b)))
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_, _ = w.Write(b) // a caller that is gone needs no answer
	}
}
