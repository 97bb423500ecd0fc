package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/task"
)

// Defaults of a Worker.
const (
	defaultConcurrency = 8
	// defaultIdle applies to workers with Once set.
	defaultIdle         = 30 * time.Second
	defaultDrainTimeout = 10 * time.Second
)

// Worker performs the tasks of an agent that hubs reach over a bus. Any number of workers may
// do so concurrently, in any number of processes. None needs to run when a client calls the
// agent. Fields must not change while the worker runs.
type Worker struct {
	// Bus connects the worker to its hubs. It is required.
	Bus Bus
	// Name is the name of the agent on the bus. If empty, it is derived from the name of Card.
	Name task.Agent
	// Card is the agent's card. If nil, the card has only Name and Skills. Skills that the card
	// lacks are added.
	Card *a2a.AgentCard
	// Executor performs the tasks. Exactly one of Executor and Skills is required.
	Executor a2asrv.AgentExecutor
	// Skills are handlers for one skill each.
	Skills []Skill
	// Concurrency is the number of tasks performed at one time. Zero means 8.
	// Each task may hold a message of up to 64 MiB in memory, and as much
	// unconfirmed output.
	Concurrency int
	// Once ends Run after one task, or after Idle without a task. It is for workers that are
	// started on demand.
	Once bool
	// Idle ends Run after that time without a task. Run returns ErrUnavailable then if the
	// bus was also unreachable. Zero means never, or 30 s if Once is set.
	Idle time.Duration
	// DrainTimeout is the time that running tasks have to complete when Run ends. After it they
	// are returned to their hubs. Zero means 10 s; negative means no time.
	DrainTimeout time.Duration
	// Keys verify the envelopes of hubs. If nil, all envelopes are accepted.
	Keys *Keyring
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger
}

// ErrWorker is returned for a Worker whose fields are missing or invalid.
var ErrWorker = errors.New("worker cannot begin")

// Run performs tasks until ctx ends, and then completes running tasks within DrainTimeout. It
// returns ErrWorker if a field is missing or invalid, the error of a bus that has failed for
// good, or an error about executors that did not stop.
func (w *Worker) Run(ctx context.Context) error {
	r, err := w.newRun()
	if err != nil {
		return err
	}
	return r.serve(ctx)
}

// newRun checks the fields of w and returns a run of it that has not begun.
func (w *Worker) newRun() (*run, error) {
	bad := func(format string, args ...any) (*run, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{ErrWorker}, args...)...)
	}
	r := &run{Worker: *w, jobs: make(map[jobKey]*job)}
	switch {
	case w.Bus == nil:
		return bad("Bus is required")
	case w.Executor == nil && len(w.Skills) == 0:
		return bad("Executor or Skills is required")
	case w.Executor != nil && len(w.Skills) > 0:
		return bad("both Executor and Skills: the executor would receive the requests of all skills")
	}
	if r.Card == nil {
		r.Card = &a2a.AgentCard{Name: string(w.Name)}
	}
	if r.Name == "" {
		r.Name = task.AgentNamed(r.Card.Name)
	}
	if err := protocol.JobAt(r.Name).Check(); r.Name == "" || err != nil {
		return bad("Name %q, which must be able to name a queue: %v", r.Name, err)
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

// newWorkerID returns a new id for a process. The id begins with the name of the agent, because
// an agent's key gives access to topics with that prefix alone.
func newWorkerID(name task.Agent) string {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	return string(name) + "." + hex.EncodeToString(id)
}

// fill sets the defaults.
func (r *run) fill() {
	if r.Concurrency <= 0 {
		r.Concurrency = defaultConcurrency
	}
	if r.Once {
		r.Concurrency = 1
		if r.Idle == 0 {
			r.Idle = defaultIdle
		}
	}
	r.DrainTimeout = cmp.Or(r.DrainTimeout, defaultDrainTimeout)
	if r.Logger == nil {
		r.Logger = slog.New(slog.DiscardHandler)
	}
	r.slots = make(chan struct{}, r.Concurrency)
	r.subscribed, r.announceNow = make(chan struct{}), wake.New()
	r.interval, r.intervalCut = protocol.HeartbeatInterval, wake.New()
}
