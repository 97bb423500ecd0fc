package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-a2a/parley/internal/task"
)

// launchAll starts the runs of tasks that the scheduler has selected.
func (e *Engine) launchAll(tickets []ticket) {
	for len(tickets) > 0 {
		s := tickets[0]
		tickets = tickets[1:]
		if !s.recovered && e.pauses.park(s, s.live.performer()) {
			s.hasBegun()
			tickets = append(tickets, e.scheduler.release(s.key)...)
			continue
		}
		tickets = append(tickets, e.launch(&s)...)
	}
}

// goneAgent is the reason for the failure of a task whose agent is not registered.
const goneAgent = "the agent of this task no longer exists"

// launch claims and starts the next message of a task that has a place. If there is none, it
// returns the tickets that may run instead. If the store fails, the ticket keeps its place.
func (e *Engine) launch(s *ticket) []ticket {
	a := e.agent(s.live.performer())
	if a == nil {
		if err := e.end(s.live, task.Failed, goneAgent, errFencedBy); err != nil && !errors.Is(err, context.Canceled) {
			e.cfg.Logger.Error("fail task", "task", s.live.ref.id, "reason", goneAgent, "error", err)
		}
		return e.drop(s)
	}
	m, ok, err := e.take(s)
	switch {
	case ok:
		e.start(s.live, a, m, s)
		return nil
	case err != nil:
		e.cfg.Logger.Error("claim task", "task", s.live.ref.id, "error", err)
		s.live.reportTrouble(err)
		if errors.Is(err, task.ErrUnavailable) {
			_ = e.storeFailed(err) // the repair waits until the store works
			e.stall(s)
			return nil
		}
	}
	return e.drop(s)
}

// drop ends a ticket without a run, and returns the tickets that may run now.
func (e *Engine) drop(s *ticket) []ticket {
	if s.rested {
		s.live.endRouse()
	}
	s.hasBegun()
	next := e.scheduler.release(s.key)
	e.startReply(s.live)
	e.live.release(s.live)
	return next
}

// stall keeps a ticket, with its place and key, until the task is repaired: otherwise a newer task
// of the context would begin before. The repair launches it again.
func (e *Engine) stall(s *ticket) {
	s.hasBegun()
	s.after = 0 // the claim may be stored, and is then undone
	s.live.mu.Lock()
	s.live.stalled = append(s.live.stalled, *s)
	s.live.mu.Unlock()
	e.scheduleRepair(s.live, nil)
}

// relaunch launches the tickets of a repaired task that were stalled, and ends its hold.
func (e *Engine) relaunch(l *live) {
	l.mu.Lock()
	tickets := l.stalled
	l.stalled = nil
	held := l.pending != nil && l.pending.orphan
	if held {
		l.pending.orphan = false
	}
	l.mu.Unlock()
	e.launchAll(tickets)
	if held {
		e.launchAll(e.scheduler.open())
	}
}

// take claims the next unread message of a task for a run; for a task that is claimed, the message that
// was read last. That is no further attempt if the last run rests.
func (e *Engine) take(s *ticket) (m inbound, ok bool, err error) {
	l := s.live
	err = e.change(l, func(c *task.Change) error {
		ok = false
		h := &c.Prev
		if h.State.Terminal() || s.after != 0 && h.Run.Epoch != s.after || e.elsewhere(h) || e.fenced.Load() || e.suspended.Load() {
			return errUnchanged
		}
		if h.Run.Dispatch == task.Claimed {
			if !s.rested || h.CancelAt != 0 {
				return errUnchanged
			}
			if m, err = e.lastRead(h); err != nil {
				return err
			}
			ok = true
			attempt := h.Run.Attempt
			if s.after != 0 {
				attempt++
			}
			e.claim(&c.Next, h.Consumed, max(attempt, 2))
			return nil
		}
		l.mu.Lock()
		ok = len(l.inbox) > 0
		if ok {
			m = l.inbox[0]
		}
		l.mu.Unlock()
		if !ok {
			return errUnchanged
		}
		e.claim(&c.Next, m.version, h.Run.Attempt+1)
		return nil
	})
	return m, ok && err == nil, err
}

// lastRead returns the message that a run of a task has read last.
func (e *Engine) lastRead(h *task.Head) (inbound, error) {
	page, err := e.store.Read(e.ctx, h.Key, h.Consumed-1)
	if err != nil {
		return inbound{}, err
	}
	if len(page) == 0 {
		return inbound{}, fmt.Errorf("read %s: log ends before v%d", h.ID, h.Consumed)
	}
	return unreadOf(&page[0]), nil
}

// releaseClaim releases a claim, if epoch still holds it.
func (e *Engine) releaseClaim(l *live, epoch int64) error {
	if epoch == 0 {
		return nil
	}
	return e.change(l, func(c *task.Change) error {
		if c.Prev.Run.Dispatch != task.Claimed || c.Prev.Run.Epoch != epoch || c.Prev.State.Terminal() {
			return errUnchanged
		}
		rest(&c.Next)
		return nil
	})
}

// end writes a final status on the hub's own behalf, unless the task has ended, and fences the
// run.
func (e *Engine) end(l *live, s task.State, text string, cause error) error {
	return e.endBy(l, ending(l.statusEntry(s, text)), cause)
}

// endBy makes a change that may end the task. If it does, it fences the run.
func (e *Engine) endBy(l *live, f step, cause error) error {
	if err := e.change(l, f); err != nil {
		return err
	}
	l.mu.Lock()
	r, ended := l.run, l.head.Ended()
	l.mu.Unlock()
	if r != nil && ended {
		r.fence(cause)
	}
	return nil
}

// ending returns the step to a final status on the hub's own behalf.
func ending(final task.Entry) step {
	return func(c *task.Change) error {
		if c.Prev.State.Terminal() || c.Prev.Visibility == task.Replied {
			return errUnchanged
		}
		h, en, err := task.Apply(c.Next, final)
		if err != nil {
			return err
		}
		c.Next, c.Entries = h, []task.Entry{en}
		c.Next.Visibility = task.Visible
		return nil
	}
}

// claim sets the run in a head that starts now with the message at version v.
func (e *Engine) claim(h *task.Head, v int64, attempt int) {
	h.Run = task.Run{
		Epoch:    h.Run.Epoch + 1,
		Holder:   e.ownHolder(),
		Dispatch: task.Claimed,
		Attempt:  attempt,
	}
	h.Consumed = v
}

// queue marks a head as waiting for a run of this process.
func (e *Engine) queue(h *task.Head) {
	h.Run.Holder, h.Run.Dispatch = e.ownHolder(), task.Pending
}

// rest marks a head as having no run. If there is more to do for it, its holder stays responsible.
func rest(h *task.Head) {
	h.Run.Dispatch, h.Run.Attempt = task.Idle, 0
	if !h.Waiting() && h.CancelAt == 0 {
		h.Run.Holder = ""
	}
}
