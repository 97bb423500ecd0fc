package engine

import (
	"context"
	"errors"

	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// errNotStored is why the run of a task ends that could not be made.
var errNotStored = errors.New("the task could not be stored")

// mayBeEarly reports whether the run of a new task may begin before the task is stored. If the
// caller has chosen the id, the task may be there already, and the run would speak for it.
func mayBeEarly(a *Agent, r *op.Send) bool {
	t := a.traits()
	return t.Early && t.Away && t.Resumable && r.Message.TaskID == ""
}

// startEarly is start for a task whose first change is about to be stored, with head h then.
// The caller holds l.write until that is over, so that no change of the run comes before, and
// tells how it was: known.
func (e *Engine) startEarly(r *run, h *task.Head) {
	r.engine, r.traits, r.stored = e, r.agent.traits(), make(chan struct{})
	e.live.retain(r.live)
	r.begin(h)
}

// known tells an early run whether its task is stored.
func (r *run) known(err error) {
	if err != nil {
		r.fence(errNotStored)
	}
	close(r.stored)
}

// awaitStored waits until the task of an early run is stored. The error is why it is not.
func (r *run) awaitStored(ctx context.Context) error {
	if r.stored == nil {
		return nil
	}
	select {
	case <-r.stored:
		return r.cutOff()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
