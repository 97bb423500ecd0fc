package engine

import (
	"context"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// resume admits a message that names a context and no task, in a dialect whose callers
// never name one: to the newest task of this context and agent that waits for its
// caller, or to a new one.
func (e *Engine) resume(ctx context.Context, c *op.Caller, r *op.Send, wait bool) (*admitted, error) {
	agents, err := e.candidates(c, r)
	if err != nil {
		return nil, err
	}
	h, err := e.interrupted(ctx, c, r, agents)
	if errors.Is(err, task.ErrNotFound) {
		return e.create(c, r, wait)
	}
	if err != nil {
		return nil, err
	}
	named := *r
	if r.Once {
		named.Alias = string(r.Message.TaskID)
	}
	named.Message.TaskID = h.ID
	ad, err := e.followUp(ctx, c, &named)
	if errors.Is(err, a2a.ErrUnsupportedOperation) || errors.Is(err, a2a.ErrTaskNotFound) {
		// It has ended in between, or its caller must not know of it yet.
		return e.create(c, r, wait)
	}
	return ad, err
}

// interrupted returns the newest task of the message's context that waits for its
// caller and belongs to one of the agents, in their order.
func (e *Engine) interrupted(ctx context.Context, c *op.Caller, r *op.Send, agents []*Agent) (h task.Head, err error) {
	for _, a := range agents {
		h, err = e.store.Interrupted(ctx, &task.Query{
			Owner: c.Principal.Owner(), Agent: a.Name, ContextID: r.Message.ContextID, Limit: 1,
		})
		if !errors.Is(err, task.ErrNotFound) {
			break
		}
	}
	return h, err
}

// once admits a message that is to be admitted once: the first time to a new task, or
// to one that waits in its context, and later to none.
func (e *Engine) once(ctx context.Context, c *op.Caller, r *op.Send, wait bool) (*admitted, error) {
	ad, err := e.join(ctx, c, r)
	if !errors.Is(err, a2a.ErrTaskNotFound) {
		return ad, err
	}
	if r.Resume && r.Message.ContextID != "" {
		ad, err = e.resume(ctx, c, r, wait)
	} else {
		ad, err = e.create(c, r, wait)
	}
	if errors.Is(err, task.ErrExists) {
		return e.join(ctx, c, r)
	}
	return ad, err
}

// join holds the task that the message names.
func (e *Engine) join(ctx context.Context, c *op.Caller, r *op.Send) (*admitted, error) {
	if _, err := e.candidates(c, r); err != nil {
		return nil, err
	}
	t := r.Target
	t.Aliases = true
	l, err := e.find(ctx, c, &t, sought{r.Message.TaskID, needOf(r)})
	if err != nil {
		return nil, err
	}
	return &admitted{live: l, version: 1, joined: true}, nil
}

// Dialect returns the wire shape in which the caller's task was made, and whether the
// caller has such a task.
func (e *Engine) Dialect(ctx context.Context, c *op.Caller, id a2a.TaskID) (uint8, bool) {
	l, err := e.find(ctx, c, &op.Target{}, sought{id, need{op: policy.Get}})
	if err != nil {
		return 0, false
	}
	defer e.live.release(l)
	return l.snapshot().Dialect, true
}
