package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/task"
)

// end ends a run whose events are durable, and starts the next waiting message or task. A run that
// was roused while it lasted, and rests, is followed by another one for the same message.
func (r *run) end() {
	r.conclude()
	r.stop(errRunEnded)
	l := r.live
	l.mu.Lock()
	again := false
	if l.run == r {
		again = r.continues && l.rouseAgain
		l.run, l.rousing, l.rouseAgain = nil, again, false
	}
	l.wakeLocked()
	l.mu.Unlock()
	r.hasBegun()
	r.engine.finished(r, again)
}

// finished continues after a run: with the next message of the task, or with the next queued
// task; with another run for the same message if again is set.
func (e *Engine) finished(r *run, again bool) {
	l := r.live
	err := e.releaseRun(r)
	l.dropBearer(r.msg.version)
	s := &ticket{live: l, key: r.key, at: l.position(), after: r.epoch, rested: again}
	switch h := l.snapshot(); {
	case e.fenced.Load():
		e.scheduler.release(r.key)
		e.startReply(l) // ends the span over the questions of the task
		e.live.release(l)
	case err != nil, errors.Is(context.Cause(r.ctx), errNotStored):
		e.stall(s)
	case again && h.Run.Epoch == r.epoch && e.mayRouse(&h):
		s.after, s.recovered = 0, true
		e.launchAll([]ticket{*s})
	case !r.continues && h.State.Open() && h.Waiting() && h.Run.Epoch == r.epoch:
		e.launchAll([]ticket{*s}) // its agent may have been replaced, paused or unregistered
	default:
		e.launchAll(e.drop(s))
	}
}

// releaseRun releases the claim of a run that ended and left its task open.
func (e *Engine) releaseRun(r *run) error {
	h := r.live.snapshot()
	if r.continues || r.lost.Load() || h.Run.Dispatch != task.Claimed || h.Run.Epoch != r.epoch || h.State.Terminal() || e.fenced.Load() {
		return nil
	}
	err := e.releaseClaim(r.live, r.epoch)
	if err != nil {
		e.cfg.Logger.Error("release run", "task", r.live.ref.id, "error", err)
		e.deferWork(r.live, func(u *pendingWork) { u.unreleased = r.epoch })
	}
	return err
}

// panicked fails the task after a panic of its agent.
func (r *run) panicked(p any) {
	reference := uuid.NewString()
	r.engine.cfg.Logger.ErrorContext(r.scope, "agent panicked", "agent", r.agent.Name, "task", r.live.ref.id,
		"reference", reference, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	r.status(task.Failed, fmt.Sprintf("agent %q panicked (reference %s)", r.agent.Name, reference))
}

// failed fails the task for a reason that is not shown to callers.
func (r *run) failed(err error) {
	reference := uuid.NewString()
	r.engine.cfg.Logger.ErrorContext(r.scope, "agent failed", "agent", r.agent.Name, "task", r.live.ref.id,
		"reference", reference, "error", err)
	r.status(task.Failed, fmt.Sprintf("agent %q failed (reference %s)", r.agent.Name, reference))
}

// unreadable fails the task because of an event of the agent. The reason names a member of a raw event; that
// for another event may have content that is not for callers.
func (r *run) unreadable(err error, raw bool) {
	if !raw {
		r.failed(fmt.Errorf("event of agent %q: %w", r.agent.Name, err))
		return
	}
	r.engine.cfg.Logger.WarnContext(r.scope, "event of agent cannot be read", "agent", r.agent.Name, "task", r.live.ref.id, "error", err)
	r.status(task.Failed, fmt.Sprintf("agent %q has sent an event that cannot be read: %v", r.agent.Name, err))
}

// exceeds counts an entry that the executor has yielded. It reports whether the run has yielded more
// than Config.MaxOutput; then the task has failed.
func (r *run) exceeds(en *task.Entry) bool {
	limit := r.engine.cfg.MaxOutput
	r.output += int64(size(en))
	if limit < 0 || r.output <= limit {
		return false
	}
	cause := fmt.Errorf("agent %q sent more than %d bytes in one run", r.agent.Name, limit)
	r.engine.cfg.Logger.WarnContext(r.scope, "agent sent too much", "agent", r.agent.Name, "task", r.live.ref.id, "bytes", limit)
	r.status(task.Failed, cause.Error())
	r.stop(cause)
	return true
}

// failedWith ends the run with an error of the executor. The message of an a2a.Error is meant
// for callers and passed on.
func (r *run) failedWith(err error, first bool) {
	if r.ctx.Err() != nil {
		return // the engine stopped the run; the error is a consequence
	}
	if first && r.refuse(err) {
		return
	}
	var public *a2a.Error
	if errors.As(err, &public) && public.Message != "" {
		r.status(task.Failed, public.Message)
		return
	}
	r.failed(err)
}

// ended handles an iterator that ended without a final event.
func (r *run) ended() {
	r.mu.Lock()
	closed := r.out.Closed()
	r.mu.Unlock()
	if closed || r.ctx.Err() != nil {
		return
	}
	if r.continues = r.endedByDrain(); r.continues {
		return
	}
	r.settle()
	if r.live.snapshot().State == task.AuthRequired {
		return
	}
	r.status(task.Failed, "agent ended without a final state")
}

// status emits a status on the hub's own behalf, as an event of the run.
func (r *run) status(s task.State, text string) {
	r.emit(r.live.statusEntry(s, text))
}

// watch enforces the time limits of a run: it shows a quiet task if its agent has not decided
// in time, and ends a run that is silent for too long.
type watch struct {
	began time.Time
	last  atomic.Int64 // when the run last yielded, in nanoseconds since began

	mu      sync.Mutex  // guards the fields below
	timer   *time.Timer // nil before the first one
	stopped bool
}

// start begins to watch r.
func (w *watch) start(r *run) {
	w.began = time.Now()
	quiet := r.live.snapshot().Visibility == task.Hidden
	silence := r.silence()
	d := silence
	if quiet {
		d = r.engine.cfg.FirstEvent
	}
	if d <= 0 {
		return
	}
	w.arm(r, d, quiet)
}

// silence returns how long the run may yield no event; negative means no limit.
func (r *run) silence() time.Duration {
	if r.traits.Silence != 0 {
		return r.traits.Silence
	}
	return r.engine.cfg.AgentSilence
}

func (w *watch) arm(r *run, d time.Duration, quiet bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || !r.engine.work.join() {
		return
	}
	w.timer = time.AfterFunc(d, func() {
		defer r.engine.work.leave()
		w.fire(r, quiet)
	})
}

// fire handles the end of the timer.
func (w *watch) fire(r *run, quiet bool) {
	silence := r.silence()
	if quiet {
		if err := r.engine.reveal(r.live); err != nil {
			r.engine.cfg.Logger.Error("show task", "task", r.live.ref.id, "error", err)
			r.engine.deferWork(r.live, func(u *pendingWork) { u.reveal = true })
			r.live.reportTrouble(err)
		}
		if silence > 0 {
			w.arm(r, silence, false)
		}
		return
	}
	idle := time.Since(w.began) - time.Duration(w.last.Load())
	if idle < silence {
		w.arm(r, silence-idle, false)
		return
	}
	cause := fmt.Errorf("agent %q silent for %v", r.agent.Name, silence)
	r.engine.cfg.Logger.Warn("agent sent no event in time; its task fails", "agent", r.agent.Name, "task", r.live.ref.id, "for", silence)
	r.status(task.Failed, cause.Error())
	r.stop(cause)
	r.settle()
}

// touch records the time of an event of the run. at has a monotonic reading: if the wall clock is
// set, agents are neither silent at once nor for hours longer.
func (w *watch) touch(at time.Time) { w.last.Store(int64(at.Sub(w.began))) }

// end stops the watch.
func (w *watch) end(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.timer != nil && w.timer.Stop() {
		r.engine.work.leave()
	}
}

// reveal shows a quiet task to callers.
func (e *Engine) reveal(l *live) error {
	return e.change(l, func(c *task.Change) error {
		if c.Prev.Visibility != task.Hidden {
			return errUnchanged
		}
		c.Next.Visibility = task.Visible
		return nil
	})
}
