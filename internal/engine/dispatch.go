package engine

import (
	"context"
	"errors"

	"github.com/parley-a2a/parley/task"
)

// launchAll starts the runs of tasks that the scheduler has selected.
func (e *Engine) launchAll(tickets []ticket) {
	for len(tickets) > 0 {
		s := tickets[0]
		tickets = tickets[1:]
		switch {
		case !s.recovered && e.pauses.park(s, s.live.performer()):
			s.hasBegun()
			tickets = append(tickets, e.scheduler.release(s.key)...)
		case !e.launch(s):
			s.live.endRouse()
			s.hasBegun()
			e.live.release(s.live)
			tickets = append(tickets, e.scheduler.release(s.key)...)
		}
	}
}

// goneAgent is the reason for the failure of a task whose agent is not registered.
const goneAgent = "the agent of this task is no longer here"

// launch claims and starts the next message of a task that has a place. It reports whether a
// run now owns the reference and the place.
func (e *Engine) launch(s ticket) bool {
	a := e.agent(s.live.performer())
	if a == nil {
		e.fail(s.live, goneAgent)
		return false
	}
	var m inbound
	var ok bool
	if s.rested {
		m, ok = e.retake(s.live)
	} else {
		m, ok = e.take(s.live, 0)
	}
	if !ok {
		return false
	}
	e.start(s.live, a, m, &s)
	return true
}

// take claims the next unread message of l for a run. If after is not zero, it claims the
// message only if the run of that epoch was the last one.
func (e *Engine) take(l *live, after int64) (m inbound, ok bool) {
	err := e.change(l, func(c *task.Change) error {
		ok = false
		h := &c.Prev
		if h.State.Terminal() || h.Run.Dispatch == task.Claimed || after != 0 && h.Run.Epoch != after || e.fenced.Load() || e.suspended.Load() {
			return errUnchanged
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
	if err != nil {
		e.cfg.Logger.Error("claim task", "task", l.ref.id, "error", err)
		l.reportTrouble(err)
		return inbound{}, false
	}
	return m, ok
}

// finished continues after a run: with the next message of the task, or with the next queued
// task.
func (e *Engine) finished(r *run) {
	l := r.live
	e.releaseRun(r)
	l.dropBearer(r.msg.version)
	var paused *Agent // for which the next message waits
	if h := l.snapshot(); h.State.Open() && h.Waiting() && h.Run.Epoch == r.epoch && !e.fenced.Load() {
		// The agent may have been replaced, paused or unregistered.
		if a := e.agent(h.Performer()); a == nil {
			e.fail(l, goneAgent)
		} else if e.IsPaused(a.Name) {
			paused = a
		} else if m, ok := e.take(l, r.epoch); ok {
			e.start(l, a, m, &ticket{key: r.key})
			return
		}
	}
	next := e.scheduler.release(r.key)
	e.startReply(l)
	if paused != nil {
		e.enqueue(l, paused)
	}
	e.live.release(l)
	if !e.fenced.Load() {
		e.launchAll(next)
	}
}

// releaseRun releases the claim of a run that ended and left its task open.
func (e *Engine) releaseRun(r *run) {
	h := r.live.snapshot()
	if r.drained || r.lost.Load() || h.Run.Dispatch != task.Claimed || h.Run.Epoch != r.epoch || h.State.Terminal() || e.fenced.Load() {
		return
	}
	if err := e.releaseClaim(r.live, r.epoch); err != nil {
		e.cfg.Logger.Error("release run", "task", r.live.ref.id, "error", err)
		e.deferWork(r.live, func(u *pendingWork) { u.unreleased = r.epoch })
	}
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
	return e.endWith(l, l.statusEntry(s, text), cause)
}

// endWith is like end with a whole entry.
func (e *Engine) endWith(l *live, final task.Entry, cause error) error {
	if err := e.change(l, ending(final)); err != nil {
		return err
	}
	l.mu.Lock()
	r := l.run
	l.mu.Unlock()
	if r != nil {
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

// fail ends a task as FAILED with a reason. It logs the error if that cannot be stored.
func (e *Engine) fail(l *live, reason string) {
	if err := e.end(l, task.Failed, reason, errFencedBy); err != nil && !errors.Is(err, context.Canceled) {
		e.cfg.Logger.Error("fail task", "task", l.ref.id, "reason", reason, "error", err)
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
