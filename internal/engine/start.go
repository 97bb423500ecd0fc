package engine

import (
	"context"
	"errors"

	"github.com/parley-a2a/parley/internal/task"
)

// start runs the claimed task l with message m in a goroutine of its own. The caller passes on
// one reference to l and one place of the key of s.
func (e *Engine) start(l *live, a *Agent, m inbound, s *ticket) {
	r := &run{engine: e, live: l, agent: a, traits: a.traits(), key: s.key, msg: m, begun: s.begun}
	h := l.snapshot()
	r.begin(&h)
}

// begin starts the execution of r for the claim in h.
func (r *run) begin(h *task.Head) {
	r.epoch, r.attempt = h.Run.Epoch, h.Run.Attempt
	r.ctx, r.stop = context.WithCancelCause(r.engine.runs)
	r.scope = r.ctx
	r.live.mu.Lock()
	r.live.run, r.live.rousing = r, false
	r.live.mu.Unlock()
	if r.engine.suspended.Load() {
		r.lost.Store(true)
		r.fence(errLeaseEnded)
	}
	if !r.engine.goroutinesOf(&r.key).run(r.perform) {
		// The engine has stopped; the next process finds the claim.
		r.hasBegun()
		r.ready.Send()
		r.engine.live.release(r.live)
	}
}

// Causes of the end of an early run. With errNotStored the task may be stored or not; with
// errNoTask it certainly is not.
var (
	errNotStored = errors.New("the task could not be stored")
	errNoTask    = errors.New("the task was refused by the store")
)

// startEarly is start for a task whose first change is about to be stored, with the head h. The
// caller holds l.write during the change, so that no change of the run comes before, and calls
// known with the outcome.
func (e *Engine) startEarly(r *run, h *task.Head) {
	r.engine, r.traits, r.stored = e, r.agent.traits(), make(chan struct{})
	e.live.retain(r.live)
	r.begin(h)
}

// notifyStored notifies an early run of the outcome of storing its task, with the given events of
// the run. The caller holds l.write, so that the run does not store them again.
func (r *run) notifyStored(events []task.Entry, err error) {
	switch {
	case errors.Is(err, task.ErrUnavailable):
		r.fence(errNotStored)
	case err != nil:
		r.fence(errNoTask)
	default:
		r.dropDurable(len(events))
		r.notifyOutput(events)
	}
	r.letGo()
	close(r.stored)
}

// letGo flushes the events that were held, and from now on those that follow.
func (r *run) letGo() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held && !r.left && !r.closed && len(r.pending) > 0 {
		r.flushing = r.engine.work.run(r.pump)
	}
	r.held = false
}

// awaitStored waits until the task of an early run is stored. It returns an error if it was
// not.
func (r *run) awaitStored(ctx context.Context) error {
	if r.stored == nil {
		return nil
	}
	r.ready.Send()
	select {
	case <-r.stored:
		return r.cutOff()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
