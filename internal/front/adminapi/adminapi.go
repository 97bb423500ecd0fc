// Package adminapi is the hub's own HTTP interface below /api/v1: the operations of its
// operator and its command line beside the protocol.
//
// The method routes has the list, which docs/reference/api.md and the answer of GET /api/v1/openapi.json
// describe: agents and their registration, tasks with their trees and logs, the inbox, notes, keys,
// webhooks, trust levels, dead letters, the audit log, the graph of calls,
// events and samples.
//
// All changes, and all requests about keys, webhooks, trust, events and the tasks of all owners,
// need an administrator. The addresses and the health of agents are shown to administrators only.
// Notes and conversations belong to the caller, which may change them. The owner of a task sees the
// questions about it in the inbox, and may answer them. An administrator is a principal with the role "admin", or
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

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/broker"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/operator"
	"github.com/parley-a2a/parley/internal/events"
	"github.com/parley-a2a/parley/internal/hosts"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/samples"
	"github.com/parley-a2a/parley/internal/trust"
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
	// Names are the names of the hub besides loopback, from whose pages browsers may send changes.
	Names *hosts.Names
	// Hub supplies the agents and the readiness. It is required.
	Hub Hub
	// Reach returns the interfaces of an agent for its card. If nil, cards have none.
	Reach func(name task.Agent) []*a2a.AgentInterface
	// Tasks counts the caller's tasks. If nil, the status has no counts.
	Tasks task.Index
	// Excerpts reads the first words of tasks. If nil, lists of tasks have none.
	Excerpts task.Excerpts
	// Graphs counts the calls between callers and agents. If nil, nothing is served at /api/v1/graph.
	Graphs Graphs
	// Trees reads tasks with the tasks below them. If nil, no trees are served.
	Trees Trees
	// Logs reads the logs of tasks. If nil, no logs are served.
	Logs *engine.Engine
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
	Trust *trust.Registry
	// Events reads the events of the hub. If nil, nothing is served at /api/v1/events and /api/v1/counts/events.
	Events *events.Recorder
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
	// TraceURL is the address of a trace in another system, with {trace_id} for its id. If empty, no
	// answer has one.
	TraceURL string
	// Version is the version of the program.
	Version string
	// Store names the kind of store, such as "sqlite".
	Store string
	// Started is when the hub was started.
	Started time.Time
	// Logger receives a record for each error that is hidden from the caller. If nil, nothing
	// is logged.
	Logger *slog.Logger

	once  sync.Once
	mux   *http.ServeMux
	tally *tally
	// attended has the tasks that need a person.
	attended *tally
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

// result returns the answer of a call. The header of w gets that of an error.
func (h *Handler) result(w http.ResponseWriter, r *http.Request, c call) (code int, body []byte) {
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
	retryAfter(w, &report)
	return report.HTTP, report.AppendREST(nil)
}

// fail answers with an error.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	report := h.explain(r, err)
	retryAfter(w, &report)
	write(w, r, report.HTTP, report.AppendREST(nil))
}

// retryAfter says when a refused request may be repeated.
func retryAfter(w http.ResponseWriter, report *dialect.Report) {
	if s := report.RetrySeconds(); s != "" {
		w.Header().Set("Retry-After", s)
	}
}

// explain returns the report of an error. One whose text is hidden from the caller is logged
// under the reference that the caller gets.
func (h *Handler) explain(r *http.Request, err error) dialect.Report {
	if refused, ok := errors.AsType[*refusal](err); ok {
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
	h.log().Log(r.Context(), level, "request failed", "method", r.Method, "path", r.URL.Path, "reference", reference, "error", err)
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
