package engine

import (
	"context"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/op"
)

// adopt makes the task that a message begins a child of the one on whose behalf it is sent:
// that of the run whose executor, or a tool of it, sends it with its context. It returns
// that run, or nil if the message begins nothing or is nobody's. Such a message is one of
// the caller in everything but that: nothing that only the hub may say in one is believed.
func (a *admission) adopt(ctx context.Context) (*run, error) {
	r, _ := agent.CallFrom(ctx).Run().(*run)
	if r == nil || r.engine != a.engine || a.lineage != nil || r.live.ref.owner != a.caller.Principal.Owner() {
		return nil, nil
	}
	if id := a.send.Message.TaskID; id != "" && (!a.send.NewIDs || r.begun(ctx, id)) {
		return nil, nil
	}
	line, err := r.lineage(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.entrust(ctx, a); err != nil {
		return nil, err
	}
	own := *a.send
	own.Message.Body = a.body
	a.send, a.lineage = &own, line
	return r, nil
}

// adopted follows what becomes of a child: the cascade of a cancellation may have come
// before it was there.
func (r *run) adopted(ad *admitted, c *op.Caller) {
	r.live.begot()
	if r.canceled() {
		r.engine.cancelChild(ad.live, c)
	}
}
