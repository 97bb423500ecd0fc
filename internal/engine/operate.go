package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/execution"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/task"
)

// Reasons for which an operation of an operator is refused. The texts are for the operator.
var (
	// ErrEnded is returned for a task that has ended.
	ErrEnded = errors.New("the task has ended")
	// ErrNotWaiting is returned for a task without a message to dispatch.
	ErrNotWaiting = errors.New("the task waits for its caller, and has no message to dispatch")
	// ErrCanceling is returned for a task whose cancellation was requested.
	ErrCanceling = errors.New("the task is being canceled")
	// ErrHasOutput is returned by Reassign if the agent has produced output already.
	ErrHasOutput = errors.New("the agent has sent output to the caller already")
	// ErrChanged is returned for a task whose revision is not that of the Target.
	ErrChanged = errors.New("nothing was done, because the task has changed")
)

// Target is a task for an operation of an operator.
type Target struct {
	Owner task.Owner
	ID    a2a.TaskID
	// Revision is that of the task that the operator has read. The operation is refused with ErrChanged if the task
	// has another one by now. If empty, it is not compared.
	Revision string
	// By is the name of the operator, which the log of the task keeps; empty if it is not known.
	By string
}

// Revision returns an opaque text that changes with everything an operator decides by: the state, the run,
// the message, the agent and a request to cancel. Output of the agent does not change it.
func Revision(h *task.Head) string {
	return fmt.Sprintf("%d.%d.%d.%d.%s", h.State, h.Run.Epoch, h.LastMessage, h.CancelAt, h.Assigned)
}

// unchanged returns ErrChanged if h has another revision than t, which may have none.
func (t *Target) unchanged(h *task.Head) error {
	if t.Revision == "" || t.Revision == Revision(h) {
		return nil
	}
	now := fmt.Sprintf("%s, run %d, agent %q", h.State.Word(), h.Run.Epoch, h.Performer())
	if h.CancelAt != 0 && !h.Ended() {
		now += ", cancel requested"
	}
	return fmt.Errorf("%w (now %s)", ErrChanged, now)
}

// Refusals are the reasons for which the operations on a task are refused; nil for those that are possible.
type Refusals struct{ Redrive, Reassign, Cancel, Fail error }

// RefusalsOf returns the refusals for a task in its present state.
func RefusalsOf(h *task.Head) Refusals {
	return Refusals{Redrive: dispatchable(h), Reassign: assignable(h), Cancel: cancelable(h), Fail: failable(h)}
}

// Inspect returns a task with its whole history. The caller of Inspect checks that the request is
// an administrator's, and records it.
func (e *Engine) Inspect(ctx context.Context, owner task.Owner, id a2a.TaskID) (*Answer, error) {
	l, err := e.open(ctx, ref{owner, id})
	if err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	defer e.live.release(l)
	h := l.snapshot()
	f, err := e.fold(ctx, l, &h)
	if err != nil {
		return nil, fmt.Errorf("inspect %s: %w", id, err)
	}
	return answerOf(&h, f, nil), nil
}

// Redrive dispatches the current message of a task again, at once. The engine ignores all
// further events of the present run and starts another one from the beginning. Operators use it
// if they know that the run has achieved nothing; external effects of the run happen again. A
// queued task stays queued.
func (e *Engine) Redrive(ctx context.Context, t Target) (task.Head, error) {
	l, err := e.open(ctx, ref{t.Owner, t.ID})
	if err != nil {
		return task.Head{}, fmt.Errorf("redrive: %w", err)
	}
	defer e.live.release(l)
	err = e.redispatch(l, t.By, func(c *task.Change) error {
		return cmp.Or(t.unchanged(&c.Prev), dispatchable(&c.Prev))
	})
	if err != nil {
		return task.Head{}, fmt.Errorf("redrive %s: %w", t.ID, err)
	}
	return l.snapshot(), nil
}

// Reassign moves a task whose agent has produced no output to another agent, which receives the
// message instead. For the caller it remains a task of the original agent.
func (e *Engine) Reassign(ctx context.Context, t Target, to task.Agent) (task.Head, error) {
	a := e.agent(to)
	if a == nil || to == "" {
		return task.Head{}, fmt.Errorf("reassign %s to %q: %w", t.ID, to, ErrNoAgent)
	}
	l, err := e.open(ctx, ref{t.Owner, t.ID})
	if err != nil {
		return task.Head{}, fmt.Errorf("reassign: %w", err)
	}
	defer e.live.release(l)
	err = e.redispatch(l, t.By, func(c *task.Change) error {
		if err := cmp.Or(t.unchanged(&c.Prev), assignable(&c.Prev)); err != nil {
			return err
		}
		c.Next.Assigned = to
		if to == c.Prev.Agent {
			c.Next.Assigned = ""
		}
		return nil
	})
	if err != nil {
		return task.Head{}, fmt.Errorf("reassign %s to %q: %w", t.ID, to, err)
	}
	return l.snapshot(), nil
}

// redispatch puts the current message of a task back into the queue for an operator, together with the changes
// of more, which may refuse it.
func (e *Engine) redispatch(l *live, by string, more step) error {
	var stopped *run
	err := e.change(l, func(c *task.Change) error {
		h := &c.Prev
		err := more(c)
		if err != nil {
			return err
		}
		c.Next.Visibility = task.Visible
		if c.Sidecars[task.SidecarCheckpoint], err = e.forgotten(h); err != nil {
			return err
		}
		c.Forget = true
		moved := c.Next.Assigned != h.Assigned
		if h.Run.Dispatch != task.Claimed && !moved {
			return errUnchanged
		}
		note := operation{name: "redrive", by: by}
		if moved {
			note = operation{"reassign", by, h.Performer(), c.Next.Performer()}
		}
		again, en, err := task.Apply(c.Next, note.entry(l.statusEntry(h.State, "")))
		if err != nil {
			return err
		}
		c.Next, c.Entries = again, append(c.Entries, en)
		if h.Run.Dispatch != task.Claimed {
			return nil
		}
		l.mu.Lock()
		stopped = l.run
		l.mu.Unlock()
		if stopped != nil {
			stopped.fence(execution.ErrRedispatched) // before another run can claim the task
		}
		return e.putBack(l, c)
	})
	if stopped != nil && err != nil {
		e.deferWork(l, func(u *pendingWork) { u.unstarted = stopped.epoch }) // its run was fenced
	}
	if err != nil {
		return err
	}
	if a := e.agent(l.performer()); a != nil {
		e.enqueue(l, a)
	}
	return nil
}

// operation is an operation of an operator for the log of a task. A move to another agent has both agents.
type operation struct {
	name, by string
	from, to task.Agent
}

// entry returns a status entry for the operation. Its metadata describes it.
func (o operation) entry(en task.Entry) task.Entry {
	en.Meta = rawjson.AppendString([]byte(`{"parley.operator":`), o.name)
	for _, f := range [...]struct{ name, value string }{{"by", o.by}, {"from", string(o.from)}, {"to", string(o.to)}} {
		if f.value != "" {
			en.Meta = rawjson.AppendString(append(en.Meta, `,"parley.`+f.name+`":`...), f.value)
		}
	}
	en.Meta = append(en.Meta, '}')
	return en
}

// forgottenMark is the prefix of the checkpoint of a task that starts over.
var forgottenMark = []byte("\x00anew\x00")

// forgotten returns the checkpoint of a task that starts over; nil if there is none.
func (e *Engine) forgotten(h *task.Head) ([]byte, error) {
	saved, err := e.store.Sidecar(e.ctx, h.Key, task.SidecarCheckpoint)
	if err != nil || saved == nil || bytes.HasPrefix(saved, forgottenMark) {
		return nil, err
	}
	return append(slices.Clip(forgottenMark), saved...), nil
}

// dispatchable returns the reason why no message of a task can be dispatched; nil if one can.
func dispatchable(h *task.Head) error {
	switch {
	case h.State.Terminal() || h.Visibility == task.Replied:
		return fmt.Errorf("%w (%s)", ErrEnded, endOf(h))
	case h.CancelAt != 0:
		return ErrCanceling
	case h.Run.Dispatch != task.Claimed && !h.Waiting():
		return ErrNotWaiting
	}
	return nil
}

// assignable returns the reason why a task cannot be moved to another agent; nil if it can.
func assignable(h *task.Head) error {
	if err := dispatchable(h); err != nil {
		return err
	}
	if h.Run.Disclosed {
		return ErrHasOutput
	}
	return nil
}

// failable returns the reason why a task cannot be failed; nil if it can.
func failable(h *task.Head) error {
	if h.Ended() {
		return fmt.Errorf("%w (%s)", ErrEnded, endOf(h))
	}
	return nil
}

// cancelable returns the reason why the cancellation of a task cannot be requested; nil if it can.
func cancelable(h *task.Head) error {
	if err := failable(h); err != nil {
		return err
	}
	if h.CancelAt != 0 {
		return ErrCanceling
	}
	return nil
}

// endOf returns a readable name of the way in which a task has ended.
func endOf(h *task.Head) string {
	if h.Visibility == task.Replied {
		return "answered"
	}
	return h.State.Word()
}

// Fail ends a task as FAILED for an operator, with a reason for its caller. Further events of its run are
// ignored.
func (e *Engine) Fail(ctx context.Context, t Target, reason string) (task.Head, error) {
	return e.failWith(ctx, t, func(l *live) task.Entry {
		return operation{name: "fail", by: t.By}.entry(l.statusEntry(task.Failed, reason))
	})
}

// GiveUp is like Fail, for the hub itself.
func (e *Engine) GiveUp(ctx context.Context, owner task.Owner, id a2a.TaskID, reason string) (task.Head, error) {
	return e.failWith(ctx, Target{Owner: owner, ID: id}, func(l *live) task.Entry { return l.statusEntry(task.Failed, reason) })
}

// failWith ends a task with the entry that final returns.
func (e *Engine) failWith(ctx context.Context, t Target, final func(*live) task.Entry) (task.Head, error) {
	l, err := e.open(ctx, ref{t.Owner, t.ID})
	if err != nil {
		return task.Head{}, fmt.Errorf("fail: %w", err)
	}
	defer e.live.release(l)
	err = e.endBy(l, func(c *task.Change) error {
		if err := cmp.Or(t.unchanged(&c.Prev), failable(&c.Prev)); err != nil {
			return err
		}
		return ending(final(l))(c)
	}, errFencedBy)
	if err != nil {
		return l.snapshot(), fmt.Errorf("fail %s: %w", t.ID, err)
	}
	return l.snapshot(), nil
}
