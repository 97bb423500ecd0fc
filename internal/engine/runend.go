package engine

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/task"
)

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
	closed := r.closed
	r.mu.Unlock()
	if closed || r.ctx.Err() != nil {
		return
	}
	if r.drained = r.endedByDrain(); r.drained {
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
