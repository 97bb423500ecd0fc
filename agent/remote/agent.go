package remote

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/client/transport"
	"github.com/parley-a2a/parley/task"
)

// DefaultTimeout is how long a message may take if Agent does not say otherwise.
const DefaultTimeout = 300 * time.Second

// Agent lets another agent perform its tasks. Fields must not change once it is in use.
type Agent struct {
	// URL is the address of the agent or of its card. It is required.
	URL string
	// Target is the tenant under which the agent is asked (specification §3.3.3), such
	// as the name of one of several agents behind an address. If empty, that of the card
	// counts.
	Target string
	// Credentials are what the agent is shown. If nil, nothing.
	Credentials *transport.Credentials
	// Identity tells the agent on whose behalf it is called; see peer.Options. If nil, it is
	// not told.
	Identity transport.Identity
	// Timeout is how long a message may take, from its first sending to a state that is
	// final or waits for the caller. Then the remote task is canceled. Zero means
	// DefaultTimeout; negative means no limit.
	Timeout time.Duration
	// Poll is the time between two looks at a task that the agent can neither stream nor
	// tell about. Zero means a time that doubles, from PollInitial to PollMax.
	Poll time.Duration
	// PollInitial and PollMax are the first and the longest such time: two seconds, and
	// thirty.
	PollInitial, PollMax time.Duration
	// HistoryLength is how much of its history a task brings along; nil leaves that to
	// the agent.
	HistoryLength *int
	// ReturnImmediately asks the agent to answer a send at once.
	ReturnImmediately bool
	// Awaited says that the agent need not run yet: a message that it has certainly not
	// received is tried until the Timeout, and not for some seconds only. It waits across a
	// restart of the hub, until the same moment.
	Awaited bool
	// Idempotent declares that the agent takes a message with the same id once, so that
	// it may be sent again when it is unknown whether it has arrived.
	Idempotent bool
	// NoStreaming looks at tasks from time to time instead of reading streams.
	NoStreaming bool
	// NoContext leaves it to the agent to name a context: the first message of a context is
	// sent without one, and later messages with the context that the agent has answered with.
	NoContext bool
	// ParamsContext sends the context id beside the message as well, to agents of v0.3 that
	// read it there.
	ParamsContext bool
	// Direct says how the agent is called when its card does not say it.
	Direct Direct
	// Unpinned goes to any host that the card names. Otherwise the host, scheme and port
	// of URL count, whatever the card says.
	Unpinned bool
	// Header is added to each request.
	Header http.Header
	// HTTP sends the requests. If nil, a client of the agent's own does. It decides which
	// addresses can be reached.
	HTTP *http.Client
	// Transports adds bindings, such as gRPC, for an agent whose card offers none over
	// HTTP. HTTP does not guard them.
	Transports map[a2a.TransportProtocol]transport.Factory
	// Callbacks take what the agent says about tasks that it cannot stream. If nil, such
	// tasks are looked at from time to time.
	Callbacks *Callbacks
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger

	once  sync.Once // makes line
	line  line
	runs  runs
	named named
}

var (
	_ a2asrv.AgentExecutor = (*Agent)(nil)
	_ agent.Described      = (*Agent)(nil)
)

// Traits implements agent.Described. A silent peer is no reason to end a run: Timeout
// is.
func (a *Agent) Traits() agent.Traits {
	return agent.Traits{Resumable: true, Away: true, Silence: -1, Recalls: true, Confirms: true}
}

// Kind returns "remote": how the agent is reached, for people.
func (a *Agent) Kind() string { return "remote" }

// Close gives up the connections to the agent. Runs must have ended.
func (a *Agent) Close() error { return a.closeLine() }

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
		a.runs.enter(r)
		defer a.runs.leave(r)
		r.perform(ctx)
	}
}

// runKey finds the run of a task. A task id alone is unique within its owner only.
type runKey struct {
	owner task.Owner
	id    a2a.TaskID
}

func ownerOf(ctx context.Context) task.Owner {
	if p := auth.PrincipalFrom(ctx); p != nil {
		return p.Owner()
	}
	return ""
}

// runs are those that are under way. The zero runs is empty.
type runs struct {
	mu  sync.Mutex // guards the field below
	all map[runKey][]*run
}

func (rs *runs) enter(r *run) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.all == nil {
		rs.all = make(map[runKey][]*run)
	}
	rs.all[r.key] = append(rs.all[r.key], r)
}

func (rs *runs) leave(r *run) {
	close(r.gone)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rest := slices.DeleteFunc(rs.all[r.key], func(other *run) bool { return other == r })
	if len(rest) == 0 {
		delete(rs.all, r.key)
		return
	}
	rs.all[r.key] = rest
}

// last returns the newest run of a task, or nil.
func (rs *runs) last(key runKey) *run {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if all := rs.all[key]; len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}
