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
// may do so side by side, in any number of processes; none need be there when the agent
// is called. Fields must not change once it runs.
type Worker struct {
	// Bus carries the work. It is required.
	Bus bus.Bus
	// Name is the name of the agent on the bus. If empty, it is made of the name of Card.
	Name task.Agent
	// Card is what the agent says of itself. If nil, it says its name and its Skills. What
	// Skills has and Card has not is added.
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
	// Idle ends Run when there was no task for so long; with bus.ErrUnavailable if the bus
	// was not to be reached either. Zero means never, or DefaultIdle if Once is set.
	Idle time.Duration
	// DrainTimeout is how long tasks may go on when Run is to end. Then they are given
	// back. Zero means DefaultDrainTimeout; negative means not at all.
	DrainTimeout time.Duration
	// Keys are those of the hubs that are believed. If nil, the bus is believed.
	Keys *bus.Keyring
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger
}

// ErrWorker is about a Worker that cannot begin.
var ErrWorker = errors.New("worker cannot begin")

// Run performs tasks until ctx ends, and what it has begun within DrainTimeout. It returns
// an error that is ErrWorker if a field is missing or wrong, or else one about a bus that
// does not work and will not, or about an executor that did not stop.
func (w *Worker) Run(ctx context.Context) error {
	s, err := w.shift()
	if err != nil {
		return err
	}
	return s.run(ctx)
}

// shift returns what runs w.
func (w *Worker) shift() (*shift, error) {
	bad := func(format string, args ...any) (*shift, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{ErrWorker}, args...)...)
	}
	s := &shift{Worker: *w, jobs: make(map[jobKey]*workJob)}
	switch {
	case w.Bus == nil:
		return bad("Bus is missing")
	case w.Executor == nil && len(w.Skills) == 0:
		return bad("neither Executor nor Skills")
	case w.Executor != nil && len(w.Skills) > 0:
		return bad("both Executor and Skills: the executor would take what the skills are for")
	}
	if s.Card == nil {
		s.Card = &a2a.AgentCard{Name: string(w.Name)}
	}
	if s.Name == "" {
		s.Name = task.AgentNamed(s.Card.Name)
	}
	if err := protocol.WorkAt(s.Name).Check(); s.Name == "" || err != nil {
		return bad("Name %q, which is to name a queue: %v", s.Name, err)
	}
	if len(w.Skills) > 0 {
		router, err := newRouter(w.Skills)
		if err != nil {
			return bad("%v", err)
		}
		s.Executor, s.Card = router, router.card(s.Card)
	}
	var err error
	if s.cardJSON, err = card.JSON(s.Card, &card.Options{Name: string(s.Name)}); err != nil {
		return bad("%v", err)
	}
	s.id = newWorkerID(s.Name)
	if err := protocol.WorkerAt(s.id).Check(); err != nil {
		return bad("Name %q is too long for the topic of a worker: %v", s.Name, err)
	}
	s.fill()
	return s, nil
}

// newWorkerID returns an id for a process: it begins with the name of the agent, because
// that is all that a key of the agent opens, and nobody else has it.
func newWorkerID(name task.Agent) string {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	return string(name) + "." + hex.EncodeToString(id)
}

// fill sets what has a default.
func (s *shift) fill() {
	if s.Concurrency <= 0 {
		s.Concurrency = DefaultConcurrency
	}
	if s.Once {
		s.Concurrency = 1
		if s.Idle == 0 {
			s.Idle = DefaultIdle
		}
	}
	if s.DrainTimeout == 0 {
		s.DrainTimeout = DefaultDrainTimeout
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	s.places = make(chan struct{}, s.Concurrency)
	s.listening, s.present = make(chan struct{}), make(chan struct{}, 1)
	s.pace, s.quicker = protocol.BeatEvery, make(chan struct{}, 1)
}
