package conversation

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/task"
)

// DefaultIdle is how long a Conversation is kept that nobody speaks in.
const DefaultIdle = time.Hour

// Agent is an executor whose tasks are turns of conversations. Only Open is required. It
// must be closed, after the hub has stopped.
type Agent struct {
	// Open opens conversations.
	Open Opener
	// Idle is how long a Conversation is kept that nobody speaks in; zero means
	// DefaultIdle, negative for ever.
	Idle time.Duration
	// Logger is told of conversations that cannot be closed. If nil, nobody is.
	Logger *slog.Logger

	mu     sync.Mutex // guards the fields below; never held while calling out
	kept   map[place]*kept
	closed bool
	busy   sync.WaitGroup // one for each user, and for each timer that is set
}

var (
	_ a2asrv.AgentExecutor = (*Agent)(nil)
	_ agent.Described      = (*Agent)(nil)
)

// ErrClosed is returned for messages after Close.
var ErrClosed = errors.New("conversations are closed")

// place is where a Conversation belongs.
type place struct {
	owner     task.Owner
	contextID string
}

// kept is a Conversation that is open.
type kept struct {
	// turn has room for the one who speaks.
	turn chan struct{}
	// conv is nil before it is opened, and after it was closed. Whoever has the turn
	// changes it.
	conv Conversation
	// users are those who speak or wait; timer is set while there is none. Agent.mu guards
	// both.
	users int
	timer *time.Timer
}

// Traits implements agent.Described: the tasks of a context are executed one by one, and a
// reply is a task.
func (a *Agent) Traits() agent.Traits { return agent.Traits{Serial: true, NoMessage: true} }

// Execute implements a2asrv.AgentExecutor.
func (a *Agent) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		at := place{contextID: x.ContextID}
		p := auth.PrincipalFrom(ctx)
		if p != nil {
			at.owner = p.Owner()
		}
		k, err := a.enter(ctx, at)
		if err != nil {
			yield(nil, err)
			return
		}
		t := &turn{agent: a, kept: k, x: x, principal: p, yield: yield}
		t.run(ctx)
		a.leave(at, k)
	}
}

// Cancel implements a2asrv.AgentExecutor: the context of the Conversation's call ends.
func (a *Agent) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return agent.ConfirmCancel(x)
}

// enter waits for the turn to speak at a place.
func (a *Agent) enter(ctx context.Context, at place) (*kept, error) {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return nil, ErrClosed
	}
	if a.kept == nil {
		a.kept = make(map[place]*kept)
	}
	k := a.kept[at]
	if k == nil {
		k = &kept{turn: make(chan struct{}, 1)}
		a.kept[at] = k
	}
	k.users++
	a.busy.Add(1)
	a.stopLocked(k)
	a.mu.Unlock()
	select {
	case k.turn <- struct{}{}:
		return k, nil
	case <-ctx.Done():
		a.forget(at, k)
		return nil, context.Cause(ctx)
	}
}

// leave gives the turn to the next one. The last one sets the timer.
func (a *Agent) leave(at place, k *kept) {
	<-k.turn
	a.forget(at, k)
}

// forget takes note that somebody has left. The last one sets the timer, or closes the
// Conversation if everything is closed.
func (a *Agent) forget(at place, k *kept) {
	defer a.busy.Done()
	a.mu.Lock()
	k.users--
	idle := a.Idle
	if idle == 0 {
		idle = DefaultIdle
	}
	over := k.users == 0 && a.closed
	if over {
		delete(a.kept, at)
	} else if k.users == 0 && idle > 0 {
		a.busy.Add(1)
		k.timer = time.AfterFunc(idle, func() {
			defer a.busy.Done()
			a.expire(at, k)
		})
	}
	a.mu.Unlock()
	if over {
		a.end(k)
	}
}

// stopLocked stops the timer of k, if it is set.
func (a *Agent) stopLocked(k *kept) {
	if k.timer != nil && k.timer.Stop() {
		a.busy.Done()
	}
	k.timer = nil
}

// expire closes a Conversation that nobody has spoken in.
func (a *Agent) expire(at place, k *kept) {
	a.mu.Lock()
	if k.users > 0 || a.kept[at] != k {
		a.mu.Unlock()
		return
	}
	delete(a.kept, at)
	a.mu.Unlock()
	a.end(k)
}

// end closes the Conversation of k, which nobody else uses.
func (a *Agent) end(k *kept) {
	if k.conv == nil {
		return
	}
	if err := k.conv.Close(); err != nil && a.Logger != nil {
		a.Logger.Warn("close conversation", "error", err)
	}
	k.conv = nil
}

// Close closes all conversations and waits for it: those in which somebody speaks are
// closed when that is over. Messages after it fail with ErrClosed. It returns nil.
func (a *Agent) Close() error {
	a.mu.Lock()
	a.closed = true
	for at, k := range a.kept {
		if k.users == 0 {
			a.stopLocked(k)
			delete(a.kept, at)
			a.busy.Go(func() { a.end(k) }) // whoever else closes waits for it, too
		}
	}
	a.mu.Unlock()
	a.busy.Wait()
	return nil
}
