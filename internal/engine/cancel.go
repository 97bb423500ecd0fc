package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/internal/usertoken"
)

// Cancel requests the cancellation of a task. It waits until the task is canceled, its agent
// refuses, or Config.CancelWait has passed; in the last case the engine fences the run and
// cancels the task without the agent's confirmation. The request is durable before the agent
// receives it. If Config.MaxWait passes first, Cancel returns the open task. If the engine stops
// first, the error is apierror.ErrUnavailable, and the next process carries out the request.
func (e *Engine) Cancel(ctx context.Context, c *op.Caller, r *op.Cancel) (*Answer, error) {
	l, err := e.find(ctx, c, &r.Target, lookup{r.ID, need{op: policy.Cancel}})
	if err != nil {
		return nil, err
	}
	defer e.live.release(l)
	event := AuditEvent{Action: audit.TaskCancel, Task: l.ref.id, Agent: l.performer()}
	written, err := e.beginAudit(c, event)
	if err != nil {
		return nil, err
	}
	call := &cancelCall{c, r}
	if err := e.requestCancel(l, call, nil); err != nil {
		e.abortAudit(c, event, err)
		if errors.Is(err, task.ErrUnavailable) {
			e.deferWork(l, func(u *pendingWork) { u.cancel = call })
		}
		return nil, err
	}
	if err := awaitAudit(written); err != nil {
		return nil, err
	}
	h, err := e.awaitCancel(ctx, l)
	if err != nil {
		return nil, err
	}
	f, err := e.foldAnswer(ctx, l, &h)
	if err != nil {
		return nil, err
	}
	return (&Answer{Answer: op.Answer{Head: h, Fold: f.Fold}}).sized(f), nil
}

// CancelFor is like Cancel, for an operator. The log of the task has an entry with the operator, and the agent gets the
// request as from the caller of the task.
func (e *Engine) CancelFor(ctx context.Context, t Target) (task.Head, error) {
	l, err := e.open(ctx, ref{t.Owner, t.ID})
	if err != nil {
		return task.Head{}, fmt.Errorf("cancel: %w", err)
	}
	defer e.live.release(l)
	c, err := e.lastCaller(l)
	if err != nil {
		return task.Head{}, fmt.Errorf("cancel %s: %w", t.ID, err)
	}
	call := &cancelCall{c, &op.Cancel{ID: t.ID}}
	err = e.requestCancel(l, call, func(c *task.Change) error {
		if err := t.unchanged(&c.Prev); err != nil {
			return err
		}
		note := operation{name: "cancel", by: t.By}
		h, en, err := task.Apply(c.Next, note.entry(l.statusEntry(c.Prev.State, "")))
		if err == nil {
			c.Next, c.Entries = h, append(c.Entries, en)
		}
		return err
	})
	if err != nil {
		return task.Head{}, fmt.Errorf("cancel %s: %w", t.ID, err)
	}
	return e.awaitCancel(ctx, l)
}

// awaitCancel waits until a requested cancellation is carried out or refused.
func (e *Engine) awaitCancel(ctx context.Context, l *live) (task.Head, error) {
	var trouble error
	done, err := e.await(ctx, l, func() bool {
		done := l.head.State.Terminal() || l.head.CancelAt == 0
		if trouble = l.trouble; done {
			trouble = nil
		}
		return done || trouble != nil
	})
	h := l.snapshot()
	switch {
	case err != nil:
		return h, err
	case trouble != nil:
		return h, trouble
	case !done && h.CancelAt != 0 && e.ctx.Err() != nil:
		return h, apierror.New(apierror.ErrUnavailable, "the hub is shutting down; it cancels the task at its next start")
	case h.State != task.Canceled && h.CancelAt == 0:
		return h, notCancelable(&h)
	}
	return h, nil
}

// startCancel carries out a cancel request in a goroutine of its own. The request must be
// assigned to the caller: see claimCancel.
func (e *Engine) startCancel(l *live, c *cancelCall) {
	at := l.snapshot().CancelAt
	e.background(l, func() {
		e.cancelTask(l, c.caller, c.request)
		l.releaseCancel()
		switch h := l.snapshot(); {
		case h.CancelAt != at:
			e.attendCancel(l) // a later request, after the agent has rejected this one
		case h.CancelAt != 0 && h.State.Open():
			e.scheduleRepair(l, nil)
		}
	})
}

// attendCancel carries out the cancel request of a task that this hub holds, unless a goroutine does. It is
// called whenever another hub may have stored one, and whenever a goroutine gives up its claim to one.
func (e *Engine) attendCancel(l *live) {
	if h := l.snapshot(); h.CancelAt == 0 || h.State.Terminal() || h.Run.Holder != e.ownHolder() {
		return
	}
	e.background(l, func() {
		if err := e.recoverCancel(l); err != nil {
			e.cfg.Logger.Error("cancel task", "task", l.ref.id, "error", err)
			e.scheduleRepair(l, nil)
		}
	})
}

// background runs f in a goroutine that keeps l loaded. It reports false, and does not run f, if the engine stops.
func (e *Engine) background(l *live, f func()) bool {
	e.live.retain(l)
	started := e.work.run(func() {
		defer e.live.release(l)
		f()
	})
	if !started {
		e.live.release(l)
	}
	return started
}

// claimCancel assigns the cancel request to the caller. It reports whether no other
// goroutine had it.
func (l *live) claimCancel() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	free := !l.canceling
	l.canceling = true
	return free
}

// releaseCancel ends the assignment of claimCancel.
func (l *live) releaseCancel() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.canceling = false
}

func notCancelable(h *task.Head) error {
	if h.State.Terminal() {
		return apierror.New(a2a.ErrTaskNotCancelable, "the task has ended (%s)", h.State.Word()).With("taskId", string(h.ID))
	}
	return apierror.New(a2a.ErrTaskNotCancelable, "the agent does not allow this task to be canceled").With("taskId", string(h.ID))
}

// requestCancel makes the request durable, and carries it out in the background if it is the first one and no
// other hub holds the task: that hub passes it to the agent. The changes of more, which may refuse it and may be nil,
// are stored with it.
func (e *Engine) requestCancel(l *live, call *cancelCall, more step) error {
	var claimed, stored bool
	err := e.change(l, func(c *task.Change) error {
		stored = false
		if c.Prev.State.Terminal() {
			return notCancelable(&c.Prev)
		}
		if c.Prev.CancelAt != 0 {
			return errUnchanged
		}
		if more != nil {
			if err := more(c); err != nil {
				return err
			}
		}
		claimed = claimed || l.claimCancel() // before a repair can find a request that no goroutine carries out
		stored = true
		c.Next.CancelAt = now()
		if c.Next.Run.Holder == "" {
			c.Next.Run.Holder = e.ownHolder()
		}
		return nil
	})
	if !claimed {
		return err
	}
	if h := l.snapshot(); err == nil && stored && !e.elsewhere(&h) {
		e.startCancel(l, call)
		return nil
	}
	l.releaseCancel()
	e.attendCancel(l) // another hub may have stored a request meanwhile
	return err
}

// cancelTask passes the request to the agent, and cancels the task.
func (e *Engine) cancelTask(l *live, c *op.Caller, r *op.Cancel) {
	ctx, stop := context.WithTimeoutCause(e.runs, e.cfg.CancelWait, errors.New("cancellation was not confirmed in time"))
	defer stop()
	refused := make(chan error, 1)
	if !e.execs.run(func() { refused <- e.cancelExecutor(ctx, l, c, r) }) {
		refused <- nil
	}
	select {
	case err := <-refused:
		if err != nil && ctx.Err() == nil && !l.snapshot().State.Terminal() {
			e.cfg.Logger.Info("agent rejected the cancellation", "task", l.ref.id, "error", err)
			at := l.snapshot().CancelAt
			if err := e.withdrawCancel(l, at); err != nil {
				e.deferWork(l, func(u *pendingWork) { u.withdrawn = at })
				e.cancelFailed(l, err)
				return
			}
			e.continueTask(l)
			return
		}
	case <-ctx.Done():
		if e.fenced.Load() && e.resumes(l) {
			return // the next process passes the request to the agent
		}
	}
	if err := e.endCanceled(l, c); err != nil {
		e.cancelFailed(l, err)
	}
}

// resumes reports whether the agent of a task continues it after a crash.
func (e *Engine) resumes(l *live) bool {
	a := e.agent(l.performer())
	return a != nil && a.traits().AfterCrash == agent.Resume
}

// endCanceled cancels a task and its children for the caller c.
func (e *Engine) endCanceled(l *live, c *op.Caller) error {
	if err := e.cancelChildren(l, c); err != nil {
		return err
	}
	return e.endBy(l, func(c *task.Change) error {
		if c.Prev.CancelAt == 0 {
			return errUnchanged // the agent has refused meanwhile
		}
		return ending(l.statusEntry(task.Canceled, ""))(c)
	}, errCanceled)
}

// cancelFailed notifies the waiting callers that their request is not completed yet.
func (e *Engine) cancelFailed(l *live, err error) {
	e.cfg.Logger.Error("cancel task", "task", l.ref.id, "error", err)
	l.reportTrouble(err)
}

// cancelExecutor runs the executor's Cancel and applies the events that it yields. It returns the
// executor's refusal.
func (e *Engine) cancelExecutor(ctx context.Context, l *live, c *op.Caller, r *op.Cancel) (err error) {
	h := l.snapshot()
	a := e.agent(h.Performer())
	if a == nil {
		if a = l.runner(); a == nil {
			return nil
		}
	}
	defer func() {
		if p := recover(); p != nil {
			reference := uuid.NewString()
			e.cfg.Logger.Error("agent panicked in cancel", "agent", a.Name, "task", l.ref.id, "reference", reference, "panic", fmt.Sprint(p))
			err = nil
		}
	}()
	rec := &callRecord{Principal: c.Principal, Metadata: r.Metadata, Params: c.Params, Extensions: c.Extensions, Tenant: r.Tenant}
	ctx = usertoken.With(trace.Extract(ctx, rec.Params), c.Bearer)
	if ids := rec.ids(); ids != (trace.IDs{}) {
		ids.Task, ids.Context = string(l.ref.id), l.contextID
		ctx = trace.WithIDs(ctx, ids)
	}
	ec, ctx, err := e.execContext(ctx, l, a.Name, rec)
	if err != nil {
		return nil
	}
	if ec.StoredTask, err = e.stored(ctx, l); err != nil {
		return nil
	}
	if a.traits().AfterCrash == agent.Resume {
		call := agent.Call{Agent: a.Name, Metadata: rec.Metadata}
		if err := e.resumeCall(ctx, l, &call); err != nil {
			return nil
		}
		ctx = agent.WithCall(ctx, &call)
	}
	for ev, err := range a.Executor.Cancel(ctx, ec) {
		if err != nil {
			return err
		}
		if ev != nil && !e.applyCancel(l, c, ev) {
			break
		}
	}
	return nil
}

// runner returns the agent that runs the task, or nil. The agent may have been unregistered.
func (l *live) runner() *Agent {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run == nil {
		return nil
	}
	return l.run.agent
}

// applyCancel applies an event of an executor's Cancel. It reports whether the engine accepts
// further ones.
func (e *Engine) applyCancel(l *live, caller *op.Caller, ev a2a.Event) bool {
	entries, err := l.entries(nil, ev, now())
	if err != nil || len(entries) == 0 {
		return err == nil
	}
	if last := &entries[len(entries)-1]; last.Kind == task.Status && last.State == task.Canceled {
		if err := e.cancelChildren(l, caller); err != nil {
			e.cfg.Logger.Error("cancel task", "task", l.ref.id, "error", err)
			return false
		}
	}
	err = e.change(l, func(c *task.Change) error {
		c.Entries = nil
		for i := range entries {
			h, en, err := task.Apply(c.Next, entries[i])
			if err != nil {
				return err
			}
			c.Next, c.Entries = h, append(c.Entries, en)
		}
		c.Next.Visibility = task.Visible
		return nil
	})
	return err == nil && l.snapshot().State.Open()
}

// withdrawCancel removes a request that the agent has refused.
func (e *Engine) withdrawCancel(l *live, at task.Millis) error {
	return e.change(l, func(c *task.Change) error {
		if c.Prev.CancelAt != at {
			return errUnchanged
		}
		c.Next.CancelAt = 0
		if c.Next.Run.Dispatch == task.Idle {
			rest(&c.Next)
		}
		return nil
	})
}
