package engine

import (
	"context"

	"github.com/parley-a2a/parley/agent"
)

var _ agent.Drainer = (*run)(nil)

// UntilDrain implements agent.Drainer.
func (r *run) UntilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	r.drains.Store(true)
	until, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.engine.serving, func() { cancel(ErrDraining) })
	return until, func() {
		if stop() {
			r.drains.Store(false) // the engine's drain did not end the context
		}
		cancel(context.Canceled)
	}
}

// endedByDrain reports whether the executor may have ended because the engine drains, so that the
// next process continues with the message. The claim stays stored for the next process to find.
func (r *run) endedByDrain() bool {
	return r.traits.Resumable && r.drains.Load() && r.engine.phase.Load() == draining
}
