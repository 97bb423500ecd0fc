package engine

import (
	"context"
	"errors"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine/timer"
	"github.com/parley-a2a/parley/internal/ratelimit"
	"github.com/parley-a2a/parley/task"
)

// ErrDraining is the cause with which the context of an executor is canceled when
// the engine stops before the run has ended.
var ErrDraining = errors.New("hub is draining")

// Agent is an agent that the engine can run.
type Agent struct {
	Name task.Agent
	Card *a2a.AgentCard
	// Extended is the whole card that is shown to callers who may see more than Card
	// says. If nil, they see the same. With More it is set by Register and Update.
	Extended *a2a.AgentCard
	// More is what such callers see beyond Card, as card.Extend takes it; nil if nothing.
	More *a2a.AgentCard
	// Others are members of Card that the protocol does not have: see card.Options.
	Others   []byte
	Executor a2asrv.AgentExecutor
	// ListedSkills says that a message finds the agent by the skills of its card
	// alone. Without it an agent whose card lists none is found by any skill that no
	// card lists.
	ListedSkills bool
	// AdvisoryModes says that the media types of the card are advice: a message with others is
	// passed on for the agent to judge, and the log says so once for each.
	AdvisoryModes bool

	extensions extensions // set by Register and Update, like what follows
	skills     []string   // the ids of those that the card lists
}

// Engine admits, runs and remembers tasks.
type Engine struct {
	cfg    Config
	store  task.Store
	holder task.Holder
	// name is what chains of errands call the hub.
	name      string
	live      *registry
	scheduler *scheduler
	quota     quota
	tokens    tokens
	// busy and limiter are nil where nothing is limited.
	busy    *busy
	limiter *ratelimit.Limiter
	// pusher is nil where there are no push notifications.
	pusher Pusher
	// recorder is nil where nothing is written down.
	recorder Recorder
	// advised are the media types that the log has named, by agent.
	advised advised
	drawing drawing

	// ctx outlives callers; it ends when Run returns.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// runs ends first: it is the parent of the executors' contexts.
	runs    context.Context
	endRuns context.CancelCauseFunc
	// serving ends when the engine begins to drain.
	serving   context.Context
	endServed context.CancelCauseFunc
	// execs are the executors, which may not obey, away those of them that wait for work
	// elsewhere; work is everything else.
	execs crew
	away  crew
	work  crew

	tailBytes atomic.Int64
	fenced    atomic.Bool
	// demanding is set once there is an agent that requires extensions.
	demanding atomic.Bool
	snapping  atomic.Bool
	phase     atomic.Int32
	health    atomic.Pointer[string]
	doubts    *doubts
	alarms    timer.Set
	recovered chan struct{}

	agents roster
	pauses pauses
}

// The phases of an engine.
const (
	starting int32 = iota
	serving
	draining
)

// New returns an Engine. Messages are admitted at once; tasks that an earlier
// process left are looked at when Run is called.
func New(cfg Config) *Engine {
	cfg = cfg.withDefaults()
	e := &Engine{
		cfg:       cfg,
		store:     cfg.Store,
		pusher:    cfg.Push,
		recorder:  cfg.Recorder,
		holder:    task.Holder("hub:" + uuid.NewString()),
		name:      hubName(cfg.TokenKey),
		live:      newRegistry(),
		doubts:    newDoubts(),
		tokens:    newTokens(cfg.TokenKey),
		scheduler: newScheduler(cfg.MaxRuns, cfg.MaxAway),
		quota:     quota{each: cfg.StreamsPerCaller, total: cfg.Streams},
		agents:    newRoster(cfg.Default),
		drawing:   drawing{seed: maphash.MakeSeed()},

		busy:    newBusy(cfg.TasksPerCaller),
		limiter: ratelimit.New(cfg.Rates),

		recovered: make(chan struct{}),
	}
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
	e.serving, e.endServed = context.WithCancelCause(e.ctx)
	e.runs, e.endRuns = context.WithCancelCause(e.ctx)
	return e
}

// Limiter returns what bounds the requests of each caller; nil if nothing does.
func (e *Engine) Limiter() *ratelimit.Limiter { return e.limiter }

// traits returns what the agent says about its runs.
func (a *Agent) traits() agent.Traits { return agent.TraitsOf(a.Executor) }

// Check is one named condition of readiness.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Detail says why the check fails, or what is to be known although it does not, for a
	// person.
	Detail string `json:"detail,omitempty"`
}

// Recovered is closed once Run has dealt with the tasks that an earlier process
// left.
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
		e.cfg.Logger.Info("store works again")
		e.doubts.signal()
	}
}

// storeFailed notes that the store does not work, and returns what to tell a
// caller.
func (e *Engine) storeFailed(err error) error {
	if !errors.Is(err, task.ErrUnavailable) {
		return err
	}
	detail := "the store cannot be written"
	switch {
	case errors.Is(err, task.ErrFull):
		detail = "the disk is full"
	case errors.Is(err, task.ErrReadOnly):
		detail = "the disk is read-only"
	}
	if e.health.Swap(&detail) == nil {
		e.cfg.Logger.Error("store does not work", "error", err)
	}
	return errors.Join(&apierror.Error{
		Err: apierror.ErrUnavailable, Message: "the hub cannot store this now: " + detail, RetryAfter: 5 * time.Second,
	}, err)
}
