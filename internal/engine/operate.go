package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/task"
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
)

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
func (e *Engine) Redrive(ctx context.Context, owner task.Owner, id a2a.TaskID) (task.Head, error) {
	l, err := e.open(ctx, ref{owner, id})
	if err != nil {
		return task.Head{}, fmt.Errorf("redrive: %w", err)
	}
	defer e.live.release(l)
	if err := e.redispatch(l, func(*task.Change) error { return nil }); err != nil {
		return task.Head{}, fmt.Errorf("redrive %s: %w", id, err)
	}
	return l.snapshot(), nil
}

// Reassign moves a task whose agent has produced no output to another agent, which receives the
// message instead. For the caller it remains a task of the original agent.
func (e *Engine) Reassign(ctx context.Context, owner task.Owner, id a2a.TaskID, to task.Agent) (task.Head, error) {
	a := e.agent(to)
	if a == nil || to == "" {
		return task.Head{}, fmt.Errorf("reassign %s to %q: %w", id, to, ErrNoAgent)
	}
	l, err := e.open(ctx, ref{owner, id})
	if err != nil {
		return task.Head{}, fmt.Errorf("reassign: %w", err)
	}
	defer e.live.release(l)
	err = e.redispatch(l, func(c *task.Change) error {
		if c.Prev.Run.Disclosed {
			return ErrHasOutput
		}
		c.Next.Assigned = to
		if to == c.Prev.Agent {
			c.Next.Assigned = ""
		}
		return nil
	})
	if err != nil {
		return task.Head{}, fmt.Errorf("reassign %s to %q: %w", id, to, err)
	}
	return l.snapshot(), nil
}

// redispatch puts the current message of a task back into the queue, together with the changes
// of more.
func (e *Engine) redispatch(l *live, more step) error {
	var stopped *run
	err := e.change(l, func(c *task.Change) error {
		h := &c.Prev
		err := dispatchable(h)
		if err == nil {
			err = more(c)
		}
		if err != nil {
			return err
		}
		c.Next.Visibility = task.Visible
		if c.Sidecars[task.SidecarCheckpoint], err = e.forgotten(h); err != nil {
			return err
		}
		c.Forget = true
		if h.Run.Dispatch != task.Claimed {
			if c.Next.Assigned == h.Assigned {
				return errUnchanged
			}
			return nil
		}
		l.mu.Lock()
		stopped = l.run
		l.mu.Unlock()
		if stopped != nil {
			stopped.fence(agent.ErrRedispatched) // before another run can claim the task
		}
		again, en, err := task.Apply(c.Next, l.operatorEntry(h.State, "redrive", ""))
		if err != nil {
			return err
		}
		c.Next, c.Entries = again, append(c.Entries, en)
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

// operatorEntry returns a status entry for an operation of an operator, which its metadata names.
func (l *live) operatorEntry(s task.State, operation, text string) task.Entry {
	en := l.statusEntry(s, text)
	en.Meta = []byte(`{"parley.operator":"` + operation + `"}`)
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

// endOf returns a readable name of the way in which a task has ended.
func endOf(h *task.Head) string {
	if h.Visibility == task.Replied {
		return "answered"
	}
	return h.State.Word()
}

// Fail ends a task as FAILED with a reason for its caller. Further events of its run are
// ignored.
func (e *Engine) Fail(ctx context.Context, owner task.Owner, id a2a.TaskID, reason string) (task.Head, error) {
	l, err := e.open(ctx, ref{owner, id})
	if err != nil {
		return task.Head{}, fmt.Errorf("fail: %w", err)
	}
	defer e.live.release(l)
	err = e.endBy(l, func(c *task.Change) error {
		if h := &c.Prev; h.Ended() {
			return fmt.Errorf("%w (%s)", ErrEnded, endOf(h))
		}
		return ending(l.operatorEntry(task.Failed, "fail", reason))(c)
	}, errFencedBy)
	if err != nil {
		return l.snapshot(), fmt.Errorf("fail %s: %w", id, err)
	}
	return l.snapshot(), nil
}
