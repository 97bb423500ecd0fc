package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/task"
)

// revivers is the number of resting tasks of an earlier process whose runs begin at one time.
const revivers = 256

// rests reports whether runs of an agent may rest.
func rests(t *agent.Traits) bool { return t.Away && !t.Serial }

// restsUnattended reports whether an orphaned task needs no run before the engine is ready.
func (e *Engine) restsUnattended(h *task.Head) bool {
	if h.State.Terminal() || h.CancelAt != 0 || h.Run.Dispatch != task.Claimed && h.Run.Dispatch != task.Pending {
		return false
	}
	a := e.agent(h.Performer())
	if a == nil {
		return false
	}
	t := a.traits()
	return rests(&t)
}

// Rouse starts a run for a task whose last run rests, in this process or an earlier one. It does
// nothing for any other task. begun, if set, is called once the run has begun, or if there will be
// none soon. The error is ErrNoAgent if the agent of the resting task is not registered, or one of
// the store; begun is not called then.
func (e *Engine) Rouse(ctx context.Context, owner task.Owner, id a2a.TaskID, begun func()) error {
	l, err := e.open(ctx, ref{owner, id})
	if err != nil {
		return fmt.Errorf("rouse: %w", err)
	}
	defer e.live.release(l)
	if h := l.snapshot(); h.State.Open() && h.Run.Dispatch == task.Claimed && e.agent(h.Performer()) == nil {
		return fmt.Errorf("rouse task of %q: %w", h.Performer(), ErrNoAgent)
	}
	if begun != nil {
		begun = sync.OnceFunc(begun)
	}
	e.rouse(l, begun)
	return nil
}

func (e *Engine) rouse(l *live, begun func()) {
	h := l.snapshot()
	s := ticket{live: l, recovered: true, rested: true, begun: begun}
	if !e.restsUnattended(&h) || h.Run.Dispatch != task.Claimed || !l.startRouse() {
		s.hasBegun()
		return
	}
	s.key = queueKeyOf(e.agent(h.Performer()), &h)
	e.enqueueLater(l, s)
}

// enqueueLater is enqueueAs on a goroutine of its own, so that the claims of several tasks share
// commits.
func (e *Engine) enqueueLater(l *live, s ticket) {
	e.live.retain(l)
	started := e.work.run(func() {
		defer e.live.release(l)
		e.enqueueAs(s)
	})
	if !started { // the engine stops
		l.endRouse()
		s.hasBegun()
		e.live.release(l)
	}
}

// startRouse reports whether the caller may queue a ticket for the resting task: there is
// neither a ticket nor a run. If there is a run, the task is roused when the run rests.
func (l *live) startRouse() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run != nil {
		l.rouseAgain = true
	}
	if l.run != nil || l.rousing {
		return false
	}
	l.rousing = true
	return true
}

func (l *live) endRouse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rousing = false
}

func (r *run) hasBegun() {
	if r.begun != nil {
		r.begun()
	}
}

// rested continues after a run that rests: with the next queued task, or with another run if the
// task was roused meanwhile.
func (e *Engine) rested(r *run, again bool) {
	r.live.dropBearer(r.msg.version)
	next := e.scheduler.release(r.key)
	if again {
		e.rouse(r.live, nil)
	}
	e.live.release(r.live)
	if !e.fenced.Load() {
		e.launchAll(next)
	}
}

// revive starts a run for each resting task of an earlier process, so that its agent can check
// that the task still waits elsewhere. It reads the log by pages, and few runs begin at one time.
func (e *Engine) revive(ctx context.Context) {
	slots := make(chan struct{}, revivers)
	for after := task.Key(0); ; {
		heads, err := e.store.Due(ctx, after, recoverPage)
		if err != nil {
			if ctx.Err() == nil {
				e.cfg.Logger.Error("revive tasks", "error", err)
			}
			return
		}
		if len(heads) == 0 {
			return
		}
		for i := range heads {
			after = heads[i].Key
			if !e.orphaned(&heads[i]) || !e.restsUnattended(&heads[i]) {
				continue
			}
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			e.reviveTask(ctx, ref{heads[i].Owner, heads[i].ID}, sync.OnceFunc(func() { <-slots }))
		}
	}
}

func (e *Engine) reviveTask(ctx context.Context, k ref, begun func()) {
	l, err := e.open(ctx, k)
	if err != nil {
		begun()
		if ctx.Err() == nil && !errors.Is(err, task.ErrNotFound) {
			e.cfg.Logger.Error("revive task", "task", k.id, "error", err)
		}
		return
	}
	defer e.live.release(l)
	h := l.snapshot()
	switch {
	case !e.orphaned(&h) || !e.restsUnattended(&h):
		begun()
	case h.Run.Dispatch == task.Claimed:
		e.rouse(l, begun)
	default:
		e.enqueueLater(l, ticket{live: l, key: queueKeyOf(e.agent(h.Performer()), &h), begun: begun})
	}
}
