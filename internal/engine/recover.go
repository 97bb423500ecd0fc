package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/parley-a2a/parley/task"
)

// Recovery.
const (
	// maxAttempts is how often an idempotent message is executed in all.
	maxAttempts = 3
	// recoverPage is how many heads are read at one time.
	recoverPage = 1000
	// recoverers is how many tasks are recovered side by side, so that their
	// changes share commits.
	recoverers = 64
)

// recover deals with the open tasks that an earlier process left.
func (e *Engine) recover(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	places := make(chan struct{}, recoverers)
	for after := task.Key(0); ; {
		heads, err := e.store.Due(ctx, after, recoverPage)
		if err != nil {
			return fmt.Errorf("recover: %w", err)
		}
		if len(heads) == 0 {
			return nil
		}
		for _, h := range heads {
			after = h.Key
			if !e.orphaned(&h) {
				continue
			}
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			wg.Go(func() {
				e.recoverTask(ctx, h)
				<-places
			})
		}
	}
}

// orphaned reports whether a task has work that nobody does.
func (e *Engine) orphaned(h *task.Head) bool {
	if h.Run.Holder == e.holder {
		return false
	}
	return h.Run.Dispatch != task.Idle || h.CancelAt != 0 || h.Waiting()
}

// recoverTask decides what becomes of one orphaned task.
func (e *Engine) recoverTask(ctx context.Context, h task.Head) {
	l, err := e.open(ctx, ref{h.Owner, h.ID})
	if err != nil {
		e.cfg.Logger.Error("recover task", "task", h.ID, "error", err)
		return
	}
	if e.recoverLive(ctx, l) {
		return
	}
	e.live.release(l)
}

// recoverLive reports whether a run has taken over the hold on l.
func (e *Engine) recoverLive(ctx context.Context, l *live) bool {
	h := l.snapshot()
	a, ok := e.Agent(h.Agent)
	switch {
	case !e.orphaned(&h) || h.State.Terminal():
		return false
	case h.CancelAt != 0:
		if err := e.end(l, task.Canceled, "", errCanceled); err != nil {
			e.cfg.Logger.Error("cancel task", "task", h.ID, "error", err)
		}
		return false
	case !ok:
		e.fail(l, "the agent of this task is no longer here")
		return false
	case h.Run.Dispatch == task.Claimed && !repeatable(&a, &h):
		e.fail(l, "interrupted by restart")
		return false
	}
	if err := e.requeue(ctx, l, &h); err != nil {
		e.cfg.Logger.Error("recover task", "task", h.ID, "error", err)
		return false
	}
	e.launchAll(e.line.wait(seat{l, laneOf(&a, &h)}))
	return true
}

// repeatable reports whether a started run may be repeated.
func repeatable(a *Agent, h *task.Head) bool {
	return a.traits().Idempotent && !h.Run.Told && h.Run.Attempt < maxAttempts
}

// requeue makes a task whose run was interrupted wait for a run again: the message
// that was being executed becomes unread.
func (e *Engine) requeue(ctx context.Context, l *live, was *task.Head) error {
	if was.Run.Dispatch != task.Claimed {
		return nil
	}
	err := e.change(l, func(c *task.Change) error {
		if c.Prev.Rev != was.Rev {
			return fmt.Errorf("recover %s: %w", was.ID, task.ErrConflict)
		}
		e.queue(&c.Next)
		c.Next.Shown = task.ToCaller
		c.Next.Read = c.Prev.Read - 1 // the message of the run is unread again
		return nil
	})
	if err != nil {
		return err
	}
	h := l.snapshot()
	inbox, err := e.unread(ctx, &h)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inbox = inbox
	return nil
}

// doubts are tasks whose creation may or may not have been stored. Their callers
// were told that nothing was accepted, so a task that turns up is failed.
type doubts struct {
	mu   sync.Mutex
	refs []ref
}

// maxDoubts bounds what is remembered; after a crash such tasks are recovered like
// any other.
const maxDoubts = 10_000

func (d *doubts) add(k ref) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.refs) < maxDoubts {
		d.refs = append(d.refs, k)
	}
}

func (d *doubts) take() []ref {
	d.mu.Lock()
	defer d.mu.Unlock()
	refs := d.refs
	d.refs = nil
	return refs
}

// resolveDoubts looks for tasks whose creation was doubtful.
func (e *Engine) resolveDoubts(ctx context.Context) {
	for _, k := range e.doubts.take() {
		l, err := e.open(ctx, k)
		switch {
		case errors.Is(err, task.ErrNotFound):
		case err != nil:
			e.doubts.add(k)
		default:
			if err := e.end(l, task.Failed, "the hub could not store the task", errFencedBy); err != nil {
				e.doubts.add(k)
			}
			e.live.release(l)
		}
	}
}
