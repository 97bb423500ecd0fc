package conversation

import (
	"cmp"
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

// DefaultIdle is the default of Agent.Idle.
const DefaultIdle = time.Hour

// Agent is an executor whose tasks are turns of conversations. Only Open is required. The
// embedder must call Close after the hub has stopped.
type Agent struct {
	// Open opens conversations.
	Open Opener
	// Idle is the time after which a Conversation without messages is closed. Zero means
	// DefaultIdle; negative means never.
	Idle time.Duration
	// Logger receives a record of each Conversation that fails to close. If nil, nothing is
	// logged.
	Logger *slog.Logger

	mu       sync.Mutex // guards the fields below; never held while calling out
	sessions map[sessionKey]*session
	closed   bool
	busy     sync.WaitGroup // counts users of conversations, and timers that are set
}

var (
	_ a2asrv.AgentExecutor = (*Agent)(nil)
	_ agent.Described      = (*Agent)(nil)
)

// ErrClosed is returned for messages that arrive after Close.
var ErrClosed = errors.New("conversations are closed")

// sessionKey identifies a Conversation: the caller and the context.
type sessionKey struct {
	owner     task.Owner
	contextID string
}

// session is the entry of a Conversation. Agent.enter creates it.
type session struct {
	// slot is a semaphore with one slot, for the message being answered.
	slot chan struct{}
	// conv is nil before it is opened and after it was closed. Only the holder of the turn
	// changes it.
	conv Conversation
	// users is the number of messages that are answered or wait. timer is set while it is zero.
	// Agent.mu guards both.
	users int
	timer *time.Timer
}

// Traits implements agent.Described: the tasks of a context are executed one by one, and every
// reply is a task.
func (a *Agent) Traits() agent.Traits { return agent.Traits{Serial: true, NoMessage: true} }

// Execute implements a2asrv.AgentExecutor.
func (a *Agent) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		at := sessionKey{contextID: x.ContextID}
		p := auth.PrincipalFrom(ctx)
		if p != nil {
			at.owner = p.Owner()
		}
		k, err := a.acquire(ctx, at)
		if err != nil {
			yield(nil, err)
			return
		}
		t := &turn{agent: a, session: k, x: x, principal: p, yield: yield}
		t.run(ctx)
		// The last user sets the timer.
		<-k.slot
		a.removeUser(at, k)
	}
}

// Cancel implements a2asrv.AgentExecutor. The hub ends the context of the Conversation's call.
func (a *Agent) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return agent.ConfirmCancel(x)
}

// acquire waits for the turn at a place, and returns its entry.
func (a *Agent) acquire(ctx context.Context, at sessionKey) (*session, error) {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return nil, ErrClosed
	}
	if a.sessions == nil {
		a.sessions = make(map[sessionKey]*session)
	}
	k := a.sessions[at]
	if k == nil {
		k = &session{slot: make(chan struct{}, 1)}
		a.sessions[at] = k
	}
	k.users++
	a.busy.Add(1)
	a.stopLocked(k)
	a.mu.Unlock()
	select {
	case k.slot <- struct{}{}:
		return k, nil
	case <-ctx.Done():
		a.removeUser(at, k)
		return nil, context.Cause(ctx)
	}
}

// removeUser removes one user of k. If it was the last one, forget sets the timer, or closes the
// Conversation if the Agent is closed.
func (a *Agent) removeUser(at sessionKey, k *session) {
	defer a.busy.Done()
	a.mu.Lock()
	k.users--
	idle := cmp.Or(a.Idle, DefaultIdle)
	over := k.users == 0 && a.closed
	if over {
		delete(a.sessions, at)
	} else if k.users == 0 && idle > 0 {
		a.busy.Add(1)
		k.timer = time.AfterFunc(idle, func() {
			defer a.busy.Done()
			a.mu.Lock()
			if k.users > 0 || a.sessions[at] != k {
				a.mu.Unlock()
				return
			}
			delete(a.sessions, at)
			a.mu.Unlock()
			a.end(k)
		})
	}
	a.mu.Unlock()
	if over {
		a.end(k)
	}
}

// stopLocked stops the timer of k, if it is set.
func (a *Agent) stopLocked(k *session) {
	if k.timer != nil && k.timer.Stop() {
		a.busy.Done()
	}
	k.timer = nil
}

// end closes the Conversation of k, which has no other users.
func (a *Agent) end(k *session) {
	if k.conv == nil {
		return
	}
	if err := k.conv.Close(); err != nil && a.Logger != nil {
		a.Logger.Warn("close conversation", "error", err)
	}
	k.conv = nil
}

// Close closes all conversations and waits until they are closed. A Conversation in use is
// closed after its current message. Later messages fail with ErrClosed. Close returns nil.
func (a *Agent) Close() error {
	a.mu.Lock()
	a.closed = true
	for at, k := range a.sessions {
		if k.users == 0 {
			a.stopLocked(k)
			delete(a.sessions, at)
			a.busy.Go(func() { a.end(k) }) // concurrent calls of Close wait for it as well
		}
	}
	a.mu.Unlock()
	a.busy.Wait()
	return nil
}
