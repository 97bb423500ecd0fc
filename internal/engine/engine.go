package engine

import (
	"context"
	"errors"
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/ratelimit"
	"github.com/parley-a2a/parley/internal/session"
	"github.com/parley-a2a/parley/internal/task"
)

// ErrDraining is the cause with which the context of an executor is canceled if the engine
// stops before the run has ended.
var ErrDraining = errors.New("hub is draining")

// Agent is an agent that the engine can run.
type Agent struct {
	Name task.Agent
	Card *a2a.AgentCard
	// Extended is the complete card for callers that may see more than Card. If nil, they see
	// Card. If More is set, Register and Update set Extended.
	Extended *a2a.AgentCard
	// More holds the additions to Card for such callers, in the form of card.Extend; nil if
	// there are none.
	More *a2a.AgentCard
	// Others are members of Card that the protocol does not define: see card.Options.
	Others   []byte
	Executor a2asrv.AgentExecutor
	// Serial adds the trait agent.Traits.Serial to those of the executor.
	Serial bool
	// ListedSkills restricts the agent to messages for the skills that its card lists. Without
	// it, an agent whose card lists none is found by any skill that no card lists.
	ListedSkills bool
	// ByName is set if no skill leads to the agent, only its name.
	ByName bool
	// Rank orders the agents that have a skill: a message that names only the skill goes to one
	// of the lowest Rank. Agents of the same Rank follow in the order of their registration.
	Rank Rank
	// Hidden agents are found by their name only: they are in no list and have no skill.
	Hidden bool
	// AdvisoryModes makes the media types of the card advisory: a message with other types is
	// passed to the agent, and the log notes each such type once.
	AdvisoryModes bool

	extensions extensions // set by Register and Update, like skills
	skills     []string   // the ids of the skills that the card lists
}

// Rank is the precedence of an agent among those with the same skill.
type Rank uint8

const (
	// RankOwn is for agents of the hub itself.
	RankOwn Rank = iota
	// RankConfigured is for agents elsewhere that the operator has configured.
	RankConfigured
	// RankFound is for agents that have announced themselves or were registered by callers.
	RankFound
)

// Engine admits, runs and stores tasks.
type Engine struct {
	cfg   Config
	store task.Store
	// firstCalls are those of tasks with several messages.
	firstCalls firstCalls
	holder     atomic.Pointer[task.Holder]
	// name is the name of the hub in delegation chains.
	name      string
	live      *taskRegistry
	scheduler *scheduler
	quota     quota
	tokens    tokens
	// callerTasks and limiter are nil if there is no limit.
	callerTasks *callerTasks
	limiter     *ratelimit.Limiter
	lifetime
	room
	// advised holds the media types that the log has noted, by agent.
	advised  advised
	keyLocks keyLocks

	fenced atomic.Bool
	// suspended is set while other hubs may take over the tasks of this one; taking is held while
	// this one takes over theirs.
	suspended atomic.Bool
	taking    sync.Mutex
	// demanding is set once an agent that requires extensions was registered.
	demanding  atomic.Bool
	snapping   atomic.Bool
	health     atomic.Pointer[string]
	reconciler *reconciler

	agents agentRegistry
	pauses pauses
	fars   fars
}

// lifetime holds the phases of an engine: its contexts, and the goroutines that end with it.
type lifetime struct {
	phase     atomic.Int32
	recovered chan struct{}
	// ctx outlives requests; it ends when Run returns.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// runs is the parent of the executors' contexts. It ends before ctx.
	runs    context.Context
	endRuns context.CancelCauseFunc
	// serving ends when the engine begins to drain.
	serving   context.Context
	endServed context.CancelCauseFunc
	// execs are the goroutines of executors, which may ignore a stop; away are those of agents
	// that wait for work elsewhere; work are all others.
	execs goroutines
	away  goroutines
	work  goroutines
}

// room limits the memory that tasks need together.
type room struct {
	memory *membudget.Budget
	// storing is held while a large change is stored.
	storing sync.Mutex
	// folding has a place for each log that is read while its size is not known.
	folding chan struct{}
	// reading has a place for each page of a log that is read while its size is not known.
	reading chan struct{}
	// foldingHuge is held while a log above hugeLog is read again; its capacity is 1.
	foldingHuge chan struct{}
	tailBytes   atomic.Int64
	// queues bound the events of each run that are not durable.
	queues session.Bounds[task.Entry]
}

// The phases of an engine.
const (
	starting int32 = iota
	serving
	draining
)

// New returns an Engine. It admits messages at once. Run recovers the tasks of an earlier
// process.
func New(cfg Config) *Engine {
	cfg = cfg.withDefaults()
	e := &Engine{
		cfg:        cfg,
		store:      cfg.Store,
		name:       hubName(cfg.TokenKey),
		live:       newTaskRegistry(),
		reconciler: newReconciler(),
		tokens:     newTokens(cfg.TokenKey),
		scheduler:  newScheduler(cfg.MaxRuns, cfg.MaxAway),
		quota:      quota{each: cfg.StreamsPerCaller, total: cfg.Streams},
		agents:     newAgentRegistry(cfg.Default),
		keyLocks:   keyLocks{seed: maphash.MakeSeed()},

		callerTasks: newCallerTasks(cfg.TasksPerCaller),
		limiter:     ratelimit.New(ratelimit.Config{Requests: cfg.RequestsPerSecond, Burst: cfg.Burst, Bytes: cfg.BytesPerSecond}),
		lifetime:    lifetime{recovered: make(chan struct{})},
		room: room{
			memory:      cfg.Memory,
			folding:     make(chan struct{}, 2*runtime.GOMAXPROCS(0)),
			reading:     make(chan struct{}, maxReading),
			foldingHuge: make(chan struct{}, 1),
		},
	}
	e.queues.Size, e.queues.Bytes, e.queues.Full = size, queueBytes, e.queueFull
	if cfg.Holder == "" {
		cfg.Holder = task.Holder("hub:" + uuid.NewString())
	}
	e.holder.Store(&cfg.Holder)
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
	e.serving, e.endServed = context.WithCancelCause(e.ctx)
	e.runs, e.endRuns = context.WithCancelCause(e.ctx)
	e.scheduler.hold() // recover ends it
	return e
}

// Limiter returns the rate limiter for the requests of each caller; nil if they are not
// limited.
func (e *Engine) Limiter() *ratelimit.Limiter { return e.limiter }

// Limits returns the limits of the hub, with their defaults.
func (e *Engine) Limits() limits.Limits { return e.cfg.Limits }

// Memory returns the budget for the memory of large requests and runs.
func (e *Engine) Memory() *membudget.Budget { return e.memory }

// traits returns the traits that the agent's executor declares, and those that are added.
func (a *Agent) traits() agent.Traits {
	t := agent.TraitsOf(a.Executor)
	t.Serial = t.Serial || a.Serial
	return t
}

// Check is one named condition of readiness.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Detail is the reason of a failed check, or a remark about a passed one, for the operator.
	Detail string `json:"detail,omitempty"`
}

// Recovered returns a channel that is closed once Run has recovered the tasks of an earlier
// process.
func (e *Engine) Recovered() <-chan struct{} { return e.recovered }

// Ready returns the checks that /readyz shows.
func (e *Engine) Ready(context.Context) []Check {
	phase := Check{Name: "recovered", OK: true}
	drain := Check{Name: "accepting", OK: true}
	switch e.phase.Load() {
	case starting:
		phase.OK, phase.Detail = false, "recovering the tasks of an earlier process"
	case draining:
		drain.OK, drain.Detail = false, "draining"
	}
	store := Check{Name: "store", OK: true}
	if p := e.health.Load(); p != nil {
		store.OK, store.Detail = false, *p
	}
	all := []Check{phase, drain, store}
	if e.cfg.Checks != nil {
		all = append(all, e.cfg.Checks()...)
	}
	return all
}

// storeOK notes that the store works.
func (e *Engine) storeOK() {
	if e.health.Load() == nil {
		return
	}
	if e.health.Swap(nil) != nil {
		e.cfg.Logger.Info("store recovered")
		e.reconciler.wake.Send()
	}
}

// storeFailed notes that the store does not work. It returns the error for the caller.
func (e *Engine) storeFailed(err error) error {
	if !errors.Is(err, task.ErrUnavailable) {
		return err
	}
	detail := "the store cannot be written"
	switch {
	case errors.Is(err, task.ErrPartly):
		// The store works for other owners. It reports by itself when it does so for this one again.
		return errors.Join(&apierror.Error{
			Err: apierror.ErrUnavailable, Message: "the database with your tasks does not answer", RetryAfter: 5 * time.Second,
		}, err)
	case errors.Is(err, task.ErrFull):
		detail = "the disk is full"
	case errors.Is(err, task.ErrReadOnly):
		detail = "the disk is read-only"
	}
	if e.health.Swap(&detail) == nil {
		e.cfg.Logger.Error("store failed", "error", err)
	}
	return errors.Join(&apierror.Error{
		Err: apierror.ErrUnavailable, Message: "the hub cannot store this now: " + detail, RetryAfter: 5 * time.Second,
	}, err)
}
