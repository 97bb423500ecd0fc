package engine

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/task"
)

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
	r.silent(silence)
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

// silent fails a task whose agent has yielded no event for d.
func (r *run) silent(d time.Duration) {
	cause := fmt.Errorf("agent %q silent for %v", r.agent.Name, d)
	r.engine.cfg.Logger.Warn("agent sent no event in time; its task fails", "agent", r.agent.Name, "task", r.live.ref.id, "for", d)
	r.status(task.Failed, cause.Error())
	r.stop(cause)
	r.settle()
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
