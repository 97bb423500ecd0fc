package worker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent/card"
	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/protocol"
	"github.com/parley-a2a/parley/task"
)

// Defaults of a Worker.
const (
	DefaultConcurrency = 8
	// DefaultIdle counts for workers that run Once.
	DefaultIdle         = 30 * time.Second
	DefaultDrainTimeout = 10 * time.Second
)

// Worker performs the tasks of an agent that is reached over a bus. Any number of workers
// may do so concurrently, in any number of processes; none need run when the agent is
// called. Fields must not change once it runs.
type Worker struct {
	// Bus carries the work. It is required.
	Bus bus.Bus
	// Name is the name of the agent on the bus. If empty, it is made of the name of Card.
	Name task.Agent
	// Card is the agent's card. If nil, it has Name and Skills alone. The Skills that it
	// lacks are added.
	Card *a2a.AgentCard
	// Executor performs the tasks. Either it or Skills is required, and not both.
	Executor a2asrv.AgentExecutor
	// Skills are handlers for one skill each.
	Skills []Skill
	// Concurrency is how many tasks are performed at one time. Zero means
	// DefaultConcurrency. Each may have a message of up to protocol.MaxLarge in memory, and as
	// much of what the hub has not confirmed.
	Concurrency int
	// Once ends Run after one task, or after Idle without one: for workers that are
	// started when there is work.
	Once bool
	// Idle ends Run after so long without a task; with bus.ErrUnavailable if the bus was
	// unreachable as well. Zero means never, or DefaultIdle if Once is set.
	Idle time.Duration
	// DrainTimeout is how long tasks may continue when Run is to end. Then they are returned
	// to their hubs. Zero means DefaultDrainTimeout; negative means no time.
	DrainTimeout time.Duration
	// Keys are those of the hubs whose envelopes are accepted. If nil, all envelopes are.
	Keys *bus.Keyring
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger
}

// ErrWorker is the error of a Worker whose fields are missing or wrong.
var ErrWorker = errors.New("worker cannot begin")

// Run performs tasks until ctx ends, and completes those it has begun within DrainTimeout. It
// returns an error that is ErrWorker if a field is missing or wrong, an error of the bus if
// that has failed for good, or one about executors that did not stop.
func (w *Worker) Run(ctx context.Context) error {
	r, err := w.newRun()
	if err != nil {
		return err
	}
	return r.serve(ctx)
}

// newRun checks the fields of w and returns a run of it, which has not begun.
func (w *Worker) newRun() (*run, error) {
	bad := func(format string, args ...any) (*run, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{ErrWorker}, args...)...)
	}
	r := &run{Worker: *w, jobs: make(map[jobKey]*job)}
	switch {
	case w.Bus == nil:
		return bad("Bus is missing")
	case w.Executor == nil && len(w.Skills) == 0:
		return bad("neither Executor nor Skills")
	case w.Executor != nil && len(w.Skills) > 0:
		return bad("both Executor and Skills: the executor would take what the skills are for")
	}
	if r.Card == nil {
		r.Card = &a2a.AgentCard{Name: string(w.Name)}
	}
	if r.Name == "" {
		r.Name = task.AgentNamed(r.Card.Name)
	}
	if err := protocol.WorkAt(r.Name).Check(); r.Name == "" || err != nil {
		return bad("Name %q, which is to name a queue: %v", r.Name, err)
	}
	if len(w.Skills) > 0 {
		router, err := newRouter(w.Skills)
		if err != nil {
			return bad("%v", err)
		}
		r.Executor, r.Card = router, router.card(r.Card)
	}
	var err error
	if r.cardJSON, err = card.JSON(r.Card, &card.Options{Name: string(r.Name)}); err != nil {
		return bad("%v", err)
	}
	r.id = newWorkerID(r.Name)
	if err := protocol.WorkerAt(r.id).Check(); err != nil {
		return bad("Name %q is too long for the topic of a worker: %v", r.Name, err)
	}
	r.fill()
	return r, nil
}

// newWorkerID returns an id for a process. It begins with the name of the agent, because a
// key of the agent opens the topics with that prefix alone.
func newWorkerID(name task.Agent) string {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	return string(name) + "." + hex.EncodeToString(id)
}

// fill sets the defaults.
func (r *run) fill() {
	if r.Concurrency <= 0 {
		r.Concurrency = DefaultConcurrency
	}
	if r.Once {
		r.Concurrency = 1
		if r.Idle == 0 {
			r.Idle = DefaultIdle
		}
	}
	if r.DrainTimeout == 0 {
		r.DrainTimeout = DefaultDrainTimeout
	}
	if r.Logger == nil {
		r.Logger = slog.New(slog.DiscardHandler)
	}
	r.slots = make(chan struct{}, r.Concurrency)
	r.subscribed, r.announceNow = make(chan struct{}), make(chan struct{}, 1)
	r.interval, r.intervalCut = protocol.BeatEvery, make(chan struct{}, 1)
}
