package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/task"
)

// Limits of recovery.
const (
	// maxAttempts is how often an idempotent message is executed in total.
	maxAttempts = 3
	// recoverPage is the number of heads that are read at once.
	recoverPage = 1000
	// recoverers is the number of tasks that are recovered concurrently, so that their changes
	// share commits.
	recoverers = 64
)

// recover recovers the open tasks of an earlier process.
func (e *Engine) recover(ctx context.Context) error {
	return e.eachOrphan(ctx, "recover", func(h task.Head) func() {
		if e.restsUnattended(&h) {
			return nil
		}
		return func() { e.recoverTask(ctx, h) }
	})
}

// eachOrphan continues the orphaned tasks, several concurrently, with the function that take
// returns for a task; nil leaves it alone. It waits for a store that cannot be read.
func (e *Engine) eachOrphan(ctx context.Context, op string, take func(task.Head) func()) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, recoverers)
	for after := task.Key(0); ; {
		heads, err := e.store.Due(ctx, after, recoverPage)
		switch {
		case errors.Is(err, task.ErrUnavailable):
			_ = e.storeFailed(fmt.Errorf("%s: %w", op, err)) // logged
			if err := backoff.Sleep(ctx, retryDelay); err != nil {
				return err
			}
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", op, err)
		}
		if len(heads) == 0 {
			return nil
		}
		for _, h := range heads {
			after = h.Key
			if !e.orphaned(&h) {
				continue
			}
			run := take(h)
			if run == nil {
				continue
			}
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			wg.Go(func() {
				defer func() { <-slots }()
				run()
			})
		}
	}
}

// orphaned reports whether a task has work that this process does not do.
func (e *Engine) orphaned(h *task.Head) bool {
	if h.Run.Holder == e.ownHolder() || e.elsewhere(h) || e.missing(h) {
		return false
	}
	return h.Run.Dispatch != task.Idle || h.CancelAt != 0 || h.Waiting()
}

// recoverTask loads and recovers one orphaned task.
func (e *Engine) recoverTask(ctx context.Context, h task.Head) {
	k := ref{h.Owner, h.ID}
	l := e.live.add(e.newLive(k))
	defer e.live.release(l)
	_, err := e.load(ctx, l)
	if err == nil {
		err = e.adoptOrphan(l)
	}
	if err != nil {
		e.cfg.Logger.Error("recover task", "task", h.ID, "error", err)
		e.deferWork(l, func(u *pendingWork) { u.orphan = true })
	}
}

// adoptOrphan continues, cancels or fails a task of an earlier process.
func (e *Engine) adoptOrphan(l *live) error {
	h := l.snapshot()
	a := e.agent(h.Performer())
	switch {
	case !e.orphaned(&h) || h.State.Terminal():
		return nil
	case h.CancelAt != 0 && a != nil && a.traits().Resumable:
		if mine, err := e.adoptHolder(l); !mine {
			return err
		}
		return e.recoverCancel(l)
	case h.CancelAt != 0:
		return e.endOrphan(l)
	case a == nil:
		return e.end(l, task.Failed, goneAgent, errFencedBy)
	case h.Run.Dispatch == task.Asking && !h.Waiting(): // otherwise the message answers
		if mine, err := e.adoptHolder(l); !mine {
			return err
		}
		e.startReply(l)
		return nil
	case h.Run.Dispatch == task.Claimed && !repeatable(a, &h):
		return e.end(l, task.Failed, interruption(a, &h), errFencedBy)
	case h.Run.Dispatch == task.Claimed:
		if err := e.unclaim(l, h.Run.Epoch, true); err != nil {
			return err
		}
		e.enqueueAs(l, ticket{live: l, key: queueKeyOf(a, &h), recovered: true})
		return nil
	}
	if mine, err := e.adoptHolder(l); !mine {
		return err
	}
	e.enqueue(l, a)
	return nil
}

// enqueue puts a task into the queue.
func (e *Engine) enqueue(l *live, a *Agent) {
	h := l.snapshot()
	e.enqueueAs(l, ticket{live: l, key: queueKeyOf(a, &h)})
}

func (e *Engine) enqueueAs(l *live, s ticket) {
	e.live.retain(l)
	e.launchAll(e.scheduler.wait(s))
}

// repeatable reports whether a started run may be repeated.
func repeatable(a *Agent, h *task.Head) bool {
	t := a.traits()
	return t.Resumable || t.Idempotent && !h.Run.Disclosed && h.Run.Attempt < maxAttempts
}

// interruption returns the reason for the failure of a task whose run must not be repeated.
func interruption(a *Agent, h *task.Head) string {
	if a.traits().Idempotent && !h.Run.Disclosed {
		return fmt.Sprintf("interrupted by restart in %d attempts", h.Run.Attempt)
	}
	return "interrupted by restart"
}

// unclaim puts a task back to waiting for a run, if epoch still has the claim: its message
// becomes unread. If its execution had not begun, it does not count as an attempt.
func (e *Engine) unclaim(l *live, epoch int64, begun bool) error {
	if epoch == 0 {
		return nil
	}
	return e.change(l, func(c *task.Change) error {
		if c.Prev.Run.Dispatch != task.Claimed || c.Prev.Run.Epoch != epoch || c.Prev.State.Terminal() {
			return errUnchanged
		}
		e.queue(&c.Next)
		if !begun {
			c.Next.Run.Attempt--
		}
		c.Next.Visibility = task.Visible
		c.Next.Consumed = c.Prev.Consumed - 1 // the message of the run is unread again
		return e.reread(l, &c.Prev)
	})
}

// reread inserts the message that was read last before the unread ones. The caller holds
// l.write. It does no harm if the message turns out to be read.
func (e *Engine) reread(l *live, h *task.Head) error {
	page, err := e.store.Read(e.ctx, h.Key, h.Consumed-1)
	if err != nil {
		return err
	}
	if len(page) == 0 {
		return fmt.Errorf("read %s: log ends before v%d", h.ID, h.Consumed)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.inbox) == 0 || l.inbox[0].version != h.Consumed {
		m := inbound{version: h.Consumed, body: page[0].Body, call: page[0].Call}
		l.inbox = slices.Insert(l.inbox, 0, m)
	}
	return nil
}
