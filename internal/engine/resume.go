package engine

import (
	"context"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
)

// resume admits a message that names a context and no task, in a dialect whose callers never
// name a task. The message goes to the newest task of this context that waits for its caller, or to
// a new task. If the message names an agent or a skill, only tasks of such agents count.
func (a *admission) resume(ctx context.Context) (*admitted, error) {
	if err := a.candidates(); err != nil {
		return nil, err
	}
	h, err := a.interrupted(ctx)
	if errors.Is(err, task.ErrNotFound) {
		return a.create()
	}
	if err != nil {
		return nil, err
	}
	ad, err := a.followUp(ctx, h.ID)
	if errors.Is(err, a2a.ErrUnsupportedOperation) || errors.Is(err, a2a.ErrTaskNotFound) {
		// It has ended in between, or callers may not see it yet.
		return a.create()
	}
	return ad, err
}

// interrupted returns the newest task of the message's context that waits for its caller. If the
// message names an agent or a skill, the task belongs to one of these agents; earlier ones take
// precedence.
func (a *admission) interrupted(ctx context.Context) (h task.Head, err error) {
	names := []task.Agent{""}
	switch name, _ := target(&a.send.Target); {
	case a.agents != nil:
		names = names[:0]
		for _, x := range a.agents {
			names = append(names, x.Name)
		}
	case name != "" || a.send.Message.Skill != "":
		names[0] = a.choice.Name
	}
	for _, name := range names {
		h, err = a.engine.store.Interrupted(ctx, &task.Query{
			Owner: a.caller.Principal.Owner(), Agent: name, ContextID: a.send.Message.ContextID, Limit: 1,
		})
		if !errors.Is(err, task.ErrNotFound) {
			break
		}
	}
	return h, err
}

// once admits a message at most once. The first time it goes to a new task, or to one that
// waits in its context; later the message joins that task.
func (a *admission) once(ctx context.Context) (*admitted, error) {
	ad, err := a.join(ctx)
	if !errors.Is(err, a2a.ErrTaskNotFound) {
		return ad, err
	}
	if a.send.Resume && a.send.Message.ContextID != "" {
		ad, err = a.resume(ctx)
	} else {
		ad, err = a.create()
	}
	if errors.Is(err, task.ErrExists) {
		return a.join(ctx)
	}
	return ad, err
}

// join returns the existing task that the message names.
func (a *admission) join(ctx context.Context) (*admitted, error) {
	if err := a.candidates(); err != nil {
		return nil, err
	}
	if err := a.hold(ctx, a.send.Message.TaskID, true); err != nil {
		return nil, err
	}
	ad := a.admitted()
	ad.version, ad.joined = 1, true
	return ad, nil
}

// Dialect returns the wire dialect in which the caller's task was created, and whether such a
// task exists.
func (e *Engine) Dialect(ctx context.Context, c *op.Caller, id a2a.TaskID) (uint8, bool) {
	l, err := e.find(ctx, c, &op.Target{}, lookup{id, need{op: policy.Get}})
	if err != nil {
		return 0, false
	}
	defer e.live.release(l)
	return l.snapshot().Dialect, true
}
