package engine

import (
	"context"

	"github.com/parley-a2a/parley/internal/execution"
	"github.com/parley-a2a/parley/internal/op"
)

// adopt links a new task to its parent if the message is sent from within a run: by its
// executor, or by a tool with the executor's context. It returns that run, or nil if the
// message creates no task or is not sent from a run. In all other respects the message is the
// caller's: names that only the hub may set are not trusted.
func (a *admission) adopt(ctx context.Context) (*run, error) {
	r, _ := execution.Run(ctx).(*run)
	if r == nil || r.engine != a.engine || a.lineage != nil || r.live.ref.owner != a.caller.Principal.Owner() {
		return nil, nil
	}
	if id := a.send.Message.TaskID; id != "" && (!a.send.NewIDs || r.childExists(ctx, id)) {
		return nil, nil
	}
	line, err := r.lineage(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.giveDelegation(ctx, a); err != nil {
		return nil, err
	}
	own := *a.send
	own.Message.Body = a.body
	a.send, a.lineage = &own, line
	return r, nil
}

// adopted notes a new child of the run's task. It cancels the child if the parent was canceled
// before the child existed.
func (r *run) adopted(ad *admitted, c *op.Caller) {
	r.live.childAdded()
	if r.canceled() {
		r.engine.cancelChild(ad.live, c)
	}
}
