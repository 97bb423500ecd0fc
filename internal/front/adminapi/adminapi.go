// Package adminapi is the hub's own HTTP interface below /api/v1: the operations of its
// operator and its command line beside the protocol.
//
//	GET /api/v1/openapi.json   the description of this API, for every client
//	GET /api/v1/status         the hub: version, uptime, readiness, the caller's tasks, the bus
//	GET /api/v1/caller         the caller: its id, its roles, and whether it is an administrator
//	GET /api/v1/agents         the agents, in the order of their registration
//	POST /api/v1/agents        registers a remote agent
//	POST /api/v1/agents/review  fetches the card of an agent and registers nothing
//	POST /api/v1/conformance   checks whether an agent complies with the specification
//	GET /api/v1/agents/{name}  one agent with its card
//	PUT /api/v1/agents/{name}  registers it, or changes its registration
//	DELETE /api/v1/agents/{name}  removes an agent that was registered
//	POST /api/v1/agents/{name}/probe    checks whether it answers
//	POST /api/v1/agents/{name}/refresh  reads its card again
//	POST /api/v1/agents/{name}/pause    holds back further messages to it
//	POST /api/v1/agents/{name}/resume   sends it messages again
//	POST /api/v1/tasks/{id}/redrive     dispatches the message of a task again
//	POST /api/v1/tasks/{id}/fail        ends a task as FAILED, with a reason
//	POST /api/v1/tasks/{id}/reassign    assigns a waiting task to another agent
//	GET /api/v1/dead           dead letters of queues: ?queue=, ?task=, pages
//	GET, DELETE /api/v1/dead/{id}       one letter with its envelope; deletes it
//	POST /api/v1/dead/{id}/replay       publishes it again
//	GET /api/v1/tasks          the caller's tasks with their agents: ?agent=, ?context=, ?state=, pages,
//	                           ?idPrefix=, ?since=, ?until=; ?owner= with scope=all
//	GET /api/v1/tasks?scope=all         the tasks of all owners, with their owners, for administrators
//	GET /api/v1/counts         the numbers of the caller's tasks by state: ?agent=
//	GET /api/v1/counts?scope=all        those of all owners, for administrators: ?owner=
//	GET /api/v1/tasks/{id}     one of the caller's tasks
//	GET /api/v1/tasks/{id}?scope=all    a task of any owner with its messages, for administrators: ?owner=
//	GET /api/v1/tasks/{id}/tree         a task of the caller and those that it has delegated
//	GET /api/v1/tasks/{id}/tree/events  the same, and each change of a status, as Server-Sent Events
//	GET /api/v1/tasks/{id}/log          the entries of its log with their times: ?after=, ?scope=all
//	GET /api/v1/tasks/{id}/log/events   the same, and each that is added, as Server-Sent Events
//	GET /api/v1/search         agents and MCP servers for ?q=, best first: ?limit=
//	GET /api/v1/costs          the costs of tasks: ?agent=, ?skill=, ?minSamples=
//	GET /api/v1/confidences    the confidences of agents, by the same filters
//	GET /api/v1/keys           the API keys, without their texts
//	POST /api/v1/keys          creates a key; its text is in the answer and nowhere else
//	DELETE /api/v1/keys/{id}   revokes a key, with ?after=24h when that time has passed
//	GET /api/v1/push           the webhooks of all callers: ?task=, ?dead=true, pages
//	GET /api/v1/memory         the caller's notes: ?prefix=, category=, limit=, after=
//	GET /api/v1/memory/events  the caller's notes and each that is set, as Server-Sent Events: ?prefix=, category=
//	GET /api/v1/memory/search  ?q=, category=, tag=, namespace=, limit=
//	GET, PUT, DELETE /api/v1/memory/note  one note: ?key=; DELETE also accepts ?prefix=
//	DELETE /api/v1/memory/session         ends a session: ?id=
//	GET /api/v1/memory/conversation       the turns of a context: ?context=
//	POST /api/v1/push/{task}/redeliver  sends webhooks their undelivered notifications again
//	GET /api/v1/audit          the audit log: ?actor=, action=, task=, agent=, since=, until=, after=, limit=
//	GET /api/v1/audit/verify   whether the audit log is intact
//	GET /api/v1/events         all events of the hub, as Server-Sent Events: ?after=, ?follow=false,
//	                           ?agent=, ?owner=, ?task=, ?context=, ?kind=
//	GET /api/v1/samples        samples of the last hour for curves: ?after=
//	GET /api/v1/inbox          the items that wait for a person: ?state=, ?kind=, pages
//	POST /api/v1/inbox         adds a question of the caller to the inbox
//	GET /api/v1/inbox/{id}     one item of it
//	GET /api/v1/inbox/events   items that are added or settled, as Server-Sent Events
//	POST /api/v1/inbox/{id}/answer, approve, refuse  settles an item
//	GET /api/v1/trust          the trust levels of callers and agents
//	POST /api/v1/trust         changes one of them
//
// All changes, and all requests about keys, webhooks, trust, events and the tasks of all owners,
// need an administrator. The
// addresses and the health of agents are shown to administrators only. Notes and conversations
// belong to the caller, which may change them. The owner of a task sees the questions about it
// in the inbox, and may answer them. An administrator is a principal with the role "admin", or
// the anonymous caller on the hub's own machine, if no proxy passed the request on and it names
// this machine as its host. Other callers get 403. With a policy, callers may also do all that it
// allows, and administrators everything that it does not deny (docs/policy.md). Cross-origin
// requests from browsers are refused.
//
// # Guarantees
//
// Answers are JSON, errors have the shape of the protocol's HTTP+JSON binding (specification
// §11.6). An unknown path is 404, as is one with empty or dotted elements; a method that a path
// does not have is 405 with Allow. Requests about tasks are limited to those of the caller. A
// body is JSON of at most 64 KiB, but 8 MiB for a note. Only the answer to the creation of a
// key holds its text. No answer holds the token or the credentials of a webhook, nor the values
// in the query of its URL. With an audit log, a change is recorded before it is made, and its
// outcome before the answer is sent; a change that cannot be recorded is not made.
//
// # Non-guarantees
//
// It does not authenticate: the front does, and puts the principal into the context. A request
// without one is refused, except for the description of the API.
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
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent/memory"
	"github.com/parley-a2a/parley/agent/queue"
	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/inbox"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/broker"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/operator"
	"github.com/parley-a2a/parley/internal/telemetry/samples"
	"github.com/parley-a2a/parley/task"
)

// Root is the path prefix of the API.
const Root = "/api/v1"

// Hub supplies the agents and the readiness of a hub. *engine.Engine implements it. Methods are
// called concurrently.
type Hub interface {
	// Agents returns the agents in the order of their registration.
	Agents() []engine.Agent
	// Agent returns the agent with a name; the empty name is the default agent.
	Agent(name task.Agent) (engine.Agent, bool)
	// Ready returns the conditions of readiness.
	Ready(ctx context.Context) []engine.Check
}

// Handler serves the API. Its fields must not change after the first use.
type Handler struct {
	// Hub supplies the agents and the readiness. It is required.
	Hub Hub
	// Reach returns the interfaces of an agent for its card. If nil, cards have none.
	Reach func(name task.Agent) []*a2a.AgentInterface
	// Tasks counts the caller's tasks. If nil, the status has no counts.
	Tasks task.Index
	// Trees reads tasks with the tasks below them. If nil, no trees are served.
	Trees Trees
	// Logs reads the logs of tasks. If nil, no logs are served.
	Logs Logs
	// Reader reads the tasks of callers. If nil, /api/v1/tasks and single tasks are not served.
	Reader TaskReader
	// Keys are the API keys. If nil, nothing is served below /api/v1/keys.
	Keys Keys
	// Directory holds the remote agents. If nil, there are none, and none can be registered or
	// searched for.
	Directory *directory.Directory
	// Broker holds the statistics of ended tasks. If nil, costs and confidences are not served.
	Broker *broker.Broker
	// Push manages webhooks. If nil, nothing is served below /api/v1/push.
	Push *Push
	// Inbox holds the items that wait for a person. If nil, nothing is served below
	// /api/v1/inbox.
	Inbox *inbox.Inbox
	// MCPServers returns the MCP servers that the hub keeps running. If nil, there are none.
	MCPServers func() []MCPServer
	// Control performs an operator's changes of tasks and agents. If nil, they are not served.
	Control *operator.Operator
	// Bus is the hub's connection to a bus. If nil, it has none.
	Bus *Bus
	// Dead holds the dead letters of the bus. If nil, the hub has no bus, and requests below
	// /api/v1/dead are answered with an error that states so.
	Dead *queue.DeadLetters
	// Active is called when an administrator reads the inbox or settles an item. It may be nil.
	Active func()
	// Trust holds the trust levels of callers and agents. If nil, nothing is served at
	// /api/v1/trust.
	Trust Trust
	// Events reads the events of the hub. If nil, nothing is served at /api/v1/events.
	Events Events
	// Samples are those of the last hour. If nil, nothing is served at /api/v1/samples.
	Samples *samples.Ring
	// Policy authorizes the operations of callers. If nil, administrators may do everything
	// here, and others as the package comment states.
	Policy *policy.Policy
	// Memory holds notes and conversations. If nil, nothing is served below /api/v1/memory.
	Memory *Memory
	// Audit records requests. If nil, no request is recorded.
	Audit Auditor
	// AuditLog is the log that is read. If nil, nothing is served at /api/v1/audit.
	AuditLog *AuditLog
	// Checker checks other agents. If nil, nothing is served at /api/v1/conformance.
	Checker Checker
	// Version is the version of the program.
	Version string
	// Store names the kind of store, such as "sqlite".
	Store string
	// Started is when the hub was started.
	Started time.Time
	// Logger receives a record for each error that is hidden from the caller. If nil, nothing
	// is logged.
	Logger *slog.Logger

	once sync.Once
	mux  *http.ServeMux
	// eventStreams counts the open streams of all events.
	eventStreams atomic.Int32
}

var _ http.Handler = (*Handler)(nil)

// errNoPath concerns the request; errNoAgent is an error of this API beside those of the
// protocol.
var (
	errNoPath  = apierror.New(a2a.ErrMethodNotFound, "nothing is served at this path")
	errNoAgent = dialect.Report{
		Row:     dialect.Row{HTTP: http.StatusNotFound, GRPC: dialect.NotFound, Reason: "AGENT_NOT_FOUND"},
		Message: "no such agent",
	}
)

// maxNamed is how much of a name an answer repeats, in characters.
const maxNamed = 100

// refusal is an error with everything that the caller gets to know about it.
type refusal dialect.Report

func (e *refusal) Error() string { return e.Message }

// refuse returns a report as an error.
func refuse(report dialect.Report) error { return (*refusal)(&report) }

// refuseRow returns an error with the text of another.
func refuseRow(row dialect.Row, err error) error {
	return refuse(dialect.Report{Row: row, Message: err.Error()})
}

// named returns the error that something does not exist, with the name that the caller gave.
func named(report dialect.Report, name string) error {
	report.Message += fmt.Sprintf(" as %q", memory.Clip(name, maxNamed))
	return refuse(report)
}

// result returns the answer to a request.
func (h *Handler) result(r *http.Request, c call) (code int, body []byte) {
	v, err := c.answer(r)
	if err == nil {
		body, err = json.Marshal(v)
		if err == nil {
			return http.StatusOK, body
		}
		err = fmt.Errorf("encode answer: %w", err)
	}
	report := h.explain(r, err)
	if d := auditEventOf(r); d != nil {
		d.Reason = report.Reason
	}
	return report.HTTP, report.AppendREST(nil)
}

// fail answers with an error.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	report := h.explain(r, err)
	write(w, r, report.HTTP, report.AppendREST(nil))
}

// explain returns the report of an error. One whose text is hidden from the caller is logged
// under the reference that the caller gets.
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
		level = slog.LevelDebug // the caller has disconnected or timed out
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
		_, _ = w.Write(b) // an error means that the client has disconnected
	}
}
