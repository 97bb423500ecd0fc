package remote

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/taskruns"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// defaultTimeout is how long a message may take if Agent.Timeout is zero.
const defaultTimeout = 300 * time.Second

// Types of calls, which package client names as well.
type (
	// Credentials authenticate the hub to an agent.
	Credentials = transport.Credentials
	// Transport connects to an interface of a further binding; grpcbind.Transport is the one for gRPC.
	Transport = transport.Factory
	// Identity supplies the headers that identify the original caller to an agent.
	Identity = transport.Identity
)

// Agent delegates its tasks to another agent over A2A. Fields must not change after the first
// use.
type Agent struct {
	// URL is the address of the agent or of its card. It is required.
	URL string
	// Target is the tenant under which the agent is called (specification §3.3.3), such as the
	// name of one of several agents behind an address. If empty, the tenant of the card is
	// used.
	Target string
	// Credentials are sent to the agent. If nil, no credentials are sent.
	Credentials *Credentials
	// Identity adds headers that identify the original caller to the agent.
	// If nil, the caller is not identified.
	Identity Identity
	// Timeout is how long a message may take, from its first sending to a state that is final
	// or waits for the caller. After that the remote task is canceled. Zero means
	// 300 s; negative means no limit.
	Timeout time.Duration
	// Poll is the time between two polls of a task for which the agent offers neither streams
	// nor webhooks. Zero means a time that doubles, from PollInitial to PollMax.
	Poll time.Duration
	// PollInitial and PollMax are the first and the longest such time. Zero means two seconds
	// and thirty seconds.
	PollInitial, PollMax time.Duration
	// HistoryLength is the number of history messages requested with a task; nil means the
	// agent's default.
	HistoryLength *int
	// ReturnImmediately asks the agent to answer a send at once.
	ReturnImmediately bool
	// Awaited states that the agent may be down when a message arrives. A message that the
	// agent has certainly not received is then retried until the Timeout, and not for some
	// seconds only. The retries continue after a restart of the hub, until the same deadline.
	Awaited bool
	// Idempotent declares that the agent accepts a message with the same id once. The message
	// is then resent when it is unknown whether it has arrived.
	Idempotent bool
	// NoStreaming polls tasks instead of reading streams.
	NoStreaming bool
	// NoContext lets the agent choose the context id: the first message of a context is sent
	// without one, and later messages with the context id of the agent's answer.
	NoContext bool
	// ParamsContext sends the context id beside the message as well, for agents of v0.3 that
	// read it there.
	ParamsContext bool
	// Direct sets how the agent is called when its card does not state it.
	Direct Direct
	// Known returns the last card that the agent has shown, in an earlier process, too; nil if
	// there is none. It is used while the card of an agent that accepts only jobs cannot be read: it
	// has no other address than that of its card. If Known is nil, no card is known.
	Known func() []byte
	// Unpinned allows calls to any host that the card names. Otherwise the host, scheme and
	// port of URL are used, whatever the card states.
	Unpinned bool
	// Header is added to each request.
	Header http.Header
	// HTTP sends the requests. If nil, a client of the Agent sends them. The client decides
	// which addresses can be reached.
	HTTP *http.Client
	// Transports adds bindings, such as gRPC, for an agent whose card offers none over HTTP.
	// The restrictions of HTTP do not apply to them.
	Transports map[a2a.TransportProtocol]Transport
	// Callbacks receives the webhook notifications of agents that cannot stream. If nil, the
	// tasks of such agents are polled.
	Callbacks *Callbacks
	// Broke is called with the reason when a task fails because something in an answer of the
	// agent cannot be read. If nil, only the task and the log have the reason.
	Broke func(reason string)
	// Administers reports whether a caller is an administrator. Their errors keep the addresses. If
	// nil, the callers with the role auth.RoleAdmin are.
	Administers func(*auth.Principal) bool
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger

	connection connection
	runs       taskruns.Set[*run]
	named      named
}

var (
	_ a2asrv.AgentExecutor = (*Agent)(nil)
	_ agent.Described      = (*Agent)(nil)
	_ agent.Confirming     = (*Agent)(nil)
)

// Traits implements agent.Described. Silence never ends a run, because Timeout does.
func (a *Agent) Traits() agent.Traits {
	return agent.Traits{Away: true, Silence: -1}
}

// ConfirmsExtensions implements agent.Confirming.
func (a *Agent) ConfirmsExtensions() bool { return true }

// Kind returns "remote", the kind of agent that is shown to users.
func (a *Agent) Kind() string { return "remote" }

// Close closes the connections to the agent. Runs must have ended.
func (a *Agent) Close() error { return a.closeConnections() }

func (a *Agent) logger() *slog.Logger {
	if a.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return a.Logger
}

// Execute implements a2asrv.AgentExecutor.
func (a *Agent) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		r, err := a.newRun(ctx, ec, yield)
		if err != nil {
			yield(nil, err)
			return
		}
		defer a.runs.Enter(taskruns.KeyOf(ctx, ec.TaskID), r)()
		defer close(r.gone)
		if r.call.Flush(ctx) != nil {
			return // the task could not be stored: the peer receives nothing
		}
		r.perform(ctx)
	}
}
