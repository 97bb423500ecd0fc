package engine

import (
	"context"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/task"
)

// UntilDrain implements agent.Call.UntilDrain.
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
	return r.resumes() && r.drains.Load() && r.engine.phase.Load() == draining
}

// awaitRuns waits until runs have ended, at most for the time that a drain may take. Runs that another
// hub continues or repeats are not waited for.
func (e *Engine) awaitRuns() {
	switch {
	case e.cfg.DrainTimeout <= 0:
		return
	case e.cfg.Peers == nil || !e.cfg.Peers.Live(""):
		e.execs.wait(e.cfg.DrainTimeout)
		return
	}
	over := time.NewTimer(e.cfg.DrainTimeout)
	defer over.Stop()
	for r := e.lasting(); r != nil; r = e.lasting() {
		select {
		case <-r.ctx.Done():
		case <-over.C:
			return
		}
	}
}

// lasting returns a run that no other hub could repeat, and that has not ended; nil if there is none.
func (e *Engine) lasting() *run {
	for i := range e.live.shards {
		for _, l := range e.live.shards[i].all() {
			l.mu.Lock()
			r, h := l.run, &l.head
			lasts := r != nil && r.ctx.Err() == nil && !r.resumes() && !mayBeginAgain(&r.traits, h)
			l.mu.Unlock()
			if lasts {
				return r
			}
		}
	}
	return nil
}

// handedOver returns the tasks whose runs are about to end with the drain, with one more reference to
// each, if another hub may repeat them. Runs of resumable agents keep their claims, and are continued.
func (e *Engine) handedOver() (all []*live) {
	if e.cfg.Peers == nil {
		return nil
	}
	for i := range e.live.shards {
		for _, l := range e.live.shards[i].all() {
			if h := l.snapshot(); e.handsOver(&h) && e.live.holdThis(l) {
				all = append(all, l)
			}
		}
	}
	return all
}

// handOver puts tasks back to waiting for a run, at another hub. The run that has ended counts as no
// attempt: a task may be interrupted a few times only, and an orderly end is no sign that it is the reason.
func (e *Engine) handOver(all []*live) {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, recoverers)
	for _, l := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			defer e.live.release(l)
			if e.suspended.Load() || e.health.Load() != nil {
				return // the other hubs find the claim
			}
			err := e.change(l, func(c *task.Change) error {
				if !e.handsOver(&c.Prev) { // its run may have shown output as it ended
					return errUnchanged
				}
				c.Next.Run.Attempt--
				return e.putBack(l, c)
			})
			if err != nil {
				e.cfg.Logger.Warn("hand over task", "task", l.ref.id, "error", err)
			}
		})
	}
}

// handsOver reports whether the run of a task ends with the drain, and another hub may repeat it.
func (e *Engine) handsOver(h *task.Head) bool {
	a := e.agent(h.Performer())
	if a == nil || h.CancelAt != 0 || h.State.Terminal() {
		return false
	}
	t := a.traits()
	return h.Run.Dispatch == task.Claimed && h.Run.Holder == e.ownHolder() && mayBeginAgain(&t, h)
}
