package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/delegation"
	"github.com/parley-a2a/parley/internal/execution"
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// childPage is the number of children that are read in one step.
const childPage = 100

// Delegate implements agent.Call.Delegate.
func (r *run) Delegate(ctx context.Context, d *agent.Delegation) (*agent.Delegated, error) {
	if err := r.awaitStored(ctx); err != nil {
		return nil, fmt.Errorf("delegate: %w", err)
	}
	send, line, err := r.delegation(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("delegate: %w", err)
	}
	rec, err := decodeCall(r.msg.call)
	if err != nil {
		return nil, fmt.Errorf("delegate: %w", err)
	}
	e := r.engine
	caller := &op.Caller{
		Principal: rec.Principal, Params: trace.StoreIDs(trace.Store(ctx, maps.Clone(rec.Params)), r.ids(rec)), Extensions: rec.Extensions,
	}
	a := admission{engine: e, caller: caller, send: send, wait: true, delegated: true, lineage: line}
	if err := r.giveDelegation(ctx, &a); err != nil {
		return nil, fmt.Errorf("delegate to %q: %w", d.Agent, err)
	}
	ad, err := r.sentBefore(ctx, d, send)
	if ad == nil && err == nil {
		ad, err = a.admit(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("delegate to %q: %w", d.Agent, err)
	}
	defer e.live.release(ad.live)
	r.adopted(ad, caller)
	if err = r.awaitChild(ctx, ad); err == nil {
		err = r.awaitCancel(ctx, ad.live)
	}
	if err != nil {
		return nil, fmt.Errorf("delegate to %q: %w", d.Agent, err)
	}
	answer, err := e.answer(ctx, ad.live, nil)
	if err != nil {
		return nil, fmt.Errorf("delegate to %q: %w", d.Agent, err)
	}
	defer answer.Release() // the run, whose memory is counted, keeps the answer
	return e.delegated(ad.live, answer), nil
}

// delegation returns the message of a delegation as a message of the caller, and the lineage of
// the child.
func (r *run) delegation(ctx context.Context, d *agent.Delegation) (*op.Send, *task.Lineage, error) {
	if d.Message == nil {
		return nil, nil, apierror.New(a2a.ErrInvalidParams, "there is no message")
	}
	line, err := r.lineage(ctx)
	if err != nil {
		return nil, nil, err
	}
	m := *d.Message
	m.ID, m.TaskID, m.ContextID, m.Role = a2a.NewMessageID(), "", "", a2a.MessageRoleUser
	if d.Key != "" && d.TaskID != "" {
		m.ID = string(r.childID(string(d.TaskID) + "\x00" + d.Key))
	}
	body, err := a2ajson.AppendMessage(nil, &m)
	if err != nil {
		return nil, nil, err
	}
	s := &op.Send{Target: op.Target{Agent: d.Agent}, Message: op.Message{
		ID: m.ID, ContextID: r.live.contextID, TaskID: d.TaskID, Skill: d.Skill, Body: body,
	}}
	for _, p := range m.Parts {
		s.Message.MediaTypes = append(s.Message.MediaTypes, p.MediaType)
	}
	if d.Key != "" && s.Message.TaskID == "" {
		s.Message.TaskID, s.NewIDs, s.Once = r.childID(d.Key), true, true
	}
	return s, line, nil
}

// sentBefore returns the further message of a delegation with a key if an earlier execution has
// sent it; otherwise nil.
func (r *run) sentBefore(ctx context.Context, d *agent.Delegation, s *op.Send) (*admitted, error) {
	if d.Key == "" || d.TaskID == "" {
		return nil, nil
	}
	l, err := r.engine.open(ctx, ref{r.live.ref.owner, d.TaskID})
	if err != nil {
		return nil, notFound(err)
	}
	h := l.snapshot()
	f, err := r.engine.fold(ctx, l, &h)
	if err == nil {
		for m := range f.EachMessage() {
			if id, _ := rawjson.String(rawjson.Member(m.Body, "messageId")); m.Caller && id == s.Message.ID {
				return &admitted{live: l, version: m.Version, repeated: true}, nil
			}
		}
	}
	r.engine.live.release(l)
	return nil, err
}

// childID returns the id of the task that the delegation with the given key creates.
func (r *run) childID(key string) a2a.TaskID {
	sum := sha256.Sum256(fmt.Appendf(nil, "parley delegation %q %q %q", r.live.ref.owner, r.live.ref.id, key))
	id, _ := uuid.FromBytes(sum[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version 8, custom
	return a2a.TaskID(id.String())
}

// lineage returns the lineage of a child of the run's task.
func (r *run) lineage(ctx context.Context) (*task.Lineage, error) {
	h := r.live.snapshot()
	line, err := task.LineageOf(ctx, r.engine.store, h.Key)
	if err != nil {
		return nil, err
	}
	if line.Root == 0 {
		line.Root = h.Key
	}
	return &task.Lineage{Parent: h.Key, Root: line.Root, Hops: line.Hops + 1}, nil
}

// awaitChild waits until the child has ended or waits for input. A run that waits for a child
// does not count as silent.
func (r *run) awaitChild(ctx context.Context, ad *admitted) error {
	for {
		if err := r.engine.awaitOutcome(ctx, ad); err != nil {
			return err
		}
		r.watch.touch(time.Now())
		ad.live.mu.Lock()
		h := &ad.live.head
		// A question that a later message has answered is no outcome: the child is working
		// again.
		asks := (ad.dealtWithLocked() || ad.joined && h.State.Interrupted()) && !h.Resumed()
		over := ad.live.answer != nil || ad.live.refusal != nil || h.State.Terminal() || asks
		ad.live.mu.Unlock()
		if over {
			return nil
		}
		if r.engine.ctx.Err() != nil {
			return ErrDraining
		}
	}
}

// awaitCancel waits until the cancellation of the run's task is complete or refused, if it has
// canceled the child. Otherwise the agent could end its task because of the canceled child
// before the engine cancels the task.
func (r *run) awaitCancel(ctx context.Context, child *live) error {
	if child.snapshot().State != task.Canceled {
		return nil
	}
	h := &r.live.head
	for {
		switch done, err := r.engine.await(ctx, r.live, func() bool { return h.CancelAt == 0 || h.State.Terminal() }); {
		case err != nil:
			return err
		case done && r.live.snapshot().State.Terminal():
			return errCanceled
		case done:
			return nil
		case r.engine.ctx.Err() != nil:
			return ErrDraining
		}
	}
}

// delegated returns an answer in the form for the agent that delegated the work.
func (e *Engine) delegated(l *live, a *Answer) *agent.Delegated {
	if a.Message != nil {
		return &agent.Delegated{State: task.Completed, JSON: a.Message, Text: task.TextOf(a.Message)}
	}
	return &agent.Delegated{
		TaskID: a.Head.ID, State: a.Head.State, Text: a.Fold.ReplyText(),
		JSON: e.fillTask(l.ref, a.Fold.AppendTask(nil, &a.Head, task.TaskOptions{Artifacts: true})),
	}
}

// cancelChildren requests the cancellation of the open children of a task, in the name of c.
// The requests are durable when it returns: a task that is canceled afterwards leaves no
// running child behind, even if the hub crashes.
func (e *Engine) cancelChildren(l *live, c *op.Caller) error {
	for h, err := range e.children(e.ctx, l.snapshot().Key, 0) {
		if err != nil {
			return fmt.Errorf("cancel children of %s: %w", l.ref.id, err)
		}
		if !h.State.Open() || h.Visibility == task.Replied {
			continue
		}
		child, err := e.open(e.ctx, ref{h.Owner, h.ID})
		if err != nil {
			return fmt.Errorf("cancel children of %s: %w", l.ref.id, err)
		}
		e.cancelChild(child, c)
		e.live.release(child)
	}
	return nil
}

// children returns the tasks to which a task has delegated, with keys above after, in the order in which they were
// created.
func (e *Engine) children(ctx context.Context, parent, after task.Key) iter.Seq2[*task.Head, error] {
	return func(yield func(*task.Head, error) bool) {
		for {
			heads, err := task.Children(ctx, e.store, parent, after, childPage)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range heads {
				if !yield(&heads[i], nil) {
					return
				}
				after = heads[i].Key
			}
			if len(heads) < childPage {
				return
			}
		}
	}
}

// AwaitedChild returns the oldest open task to which a task has delegated; nil if there is none among the first
// thousand.
func (e *Engine) AwaitedChild(ctx context.Context, parent task.Key) (*task.Head, error) {
	n := 0
	for h, err := range e.children(ctx, parent, 0) {
		if err != nil {
			return nil, fmt.Errorf("children of task %d: %w", parent, err)
		}
		if !h.Ended() {
			return h, nil
		}
		if n++; n == 1000 {
			break
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// cancelChild requests the cancellation of a child, and does not wait for it.
func (e *Engine) cancelChild(l *live, c *op.Caller) {
	call := &cancelCall{c, &op.Cancel{ID: l.ref.id}}
	if err := e.requestCancel(l, call, nil); err != nil && !l.snapshot().State.Terminal() {
		e.deferWork(l, func(u *pendingWork) { u.cancel = call })
		e.cancelFailed(l, err)
	}
}

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
	h := r.live.snapshot()
	if h.CancelAt != 0 || h.State == task.Canceled {
		r.engine.cancelChild(ad.live, c)
	}
}

// hubName returns the name of a hub in delegation chains. The name reveals nothing about the
// hub, and stays the same as long as the key does.
func hubName(key []byte) string {
	if len(key) == 0 {
		return uuid.NewString()[:8]
	}
	sum := sha256.Sum256(append([]byte("parley hub "), key...))
	return hex.EncodeToString(sum[:6])
}

// self returns the name of an agent of the hub in delegation chains.
func (e *Engine) self(name task.Agent) string { return string(name) + "@" + e.name }

// readDelegation reads the delegation context of the message, and applies the limits of the hub
// to it.
func (a *admission) readDelegation() error {
	if a.delegation != nil {
		return nil
	}
	received, err := delegation.Read(a.send.Metadata, a.send.Message.Body, a.caller.Params)
	if err != nil || received == nil {
		return err
	}
	within := received.Within(a.engine.cfg.delegations())
	a.delegation = &within
	return nil
}

// delegationContext returns the delegation context of the run. A further message cannot allow
// more than the first message.
func (r *run) delegationContext(ctx context.Context) (*delegation.Context, error) {
	rec, err := r.record()
	if err != nil {
		return nil, err
	}
	dc := delegation.Stored(rec.Params)
	if r.msg.version > 1 {
		first, err := r.engine.firstCall(ctx, r.live)
		if err != nil {
			return nil, err
		}
		dc = delegation.Or(dc, delegation.Stored(first.Params))
	}
	return dc, nil
}

// record returns the record that was stored with the message of the run.
func (r *run) record() (*callRecord, error) {
	if r.msg.record != nil {
		return r.msg.record, nil
	}
	return decodeCall(r.msg.call)
}

// nextContext returns the delegation context for one more delegation of the run. Its budget is
// the part that earlier children have left.
func (r *run) nextContext(ctx context.Context) (*delegation.Context, error) {
	dc, err := r.delegationContext(ctx)
	if err != nil {
		return nil, err
	}
	if dc == nil {
		own := delegation.New(r.engine.cfg.delegations())
		dc = &own
	}
	now := *dc
	for range r.spent.children {
		_, now.Budget = delegation.Share(now.Budget)
	}
	next, err := now.Next(r.engine.self(r.agent.Name), r.engine.cfg.delegations(), time.Now())
	return &next, err
}

// OutgoingDelegation implements agent.Call.OutgoingDelegation.
func (r *run) OutgoingDelegation(ctx context.Context) (*agent.DelegationContext, error) {
	r.spent.mu.Lock()
	defer r.spent.mu.Unlock()
	if err := r.spent.count(ctx, r); err != nil {
		return nil, err
	}
	next, err := r.nextContext(ctx)
	if err != nil {
		return nil, public(err)
	}
	return (*agent.DelegationContext)(next), nil
}

// public makes the message of an apierror visible to the caller of a task whose agent returns
// it.
func public(err error) error {
	if f, ok := err.(*apierror.Error); ok {
		return a2a.NewError(f.Err, f.Message)
	}
	return err
}

// giveDelegation gives the message of a child its delegation context, and takes the child's
// share from the budget. A message to an existing child takes nothing.
func (r *run) giveDelegation(ctx context.Context, a *admission) error {
	delegation.Strip(a.caller.Params)
	s := a.send
	if s.Message.TaskID != "" && (!s.Once && !s.NewIDs || r.childExists(ctx, s.Message.TaskID)) {
		return nil
	}
	r.spent.mu.Lock()
	defer r.spent.mu.Unlock()
	if err := r.spent.count(ctx, r); err != nil {
		return err
	}
	next, err := r.nextContext(ctx)
	if err != nil {
		return err
	}
	next.Budget, _ = delegation.Share(next.Budget + 1)
	a.delegation = next
	r.spent.children++
	return nil
}

// childExists reports whether a child exists.
func (r *run) childExists(ctx context.Context, id a2a.TaskID) bool {
	l, err := r.engine.open(ctx, ref{r.live.ref.owner, id})
	if err != nil {
		return false
	}
	defer r.engine.live.release(l)
	return l.snapshot().Version > 0
}

// spending counts the children that the task of a run has created. The zero value has not
// counted them yet.
type spending struct {
	mu       sync.Mutex // guards the fields below
	counted  bool
	children int
}

// count counts the children that existed before the run.
func (s *spending) count(ctx context.Context, r *run) error {
	if s.counted {
		return nil
	}
	if r.attempt == 1 && r.msg.version == 1 {
		s.counted = true
		return nil
	}
	begun := 0
	for _, err := range r.engine.children(ctx, r.live.snapshot().Key, 0) {
		if err != nil {
			return err
		}
		begun++
	}
	s.children, s.counted = begun, true
	return nil
}

// deadlineGrace is added to the deadline of a run whose agent enforces its time itself, so that
// the agent can report the outcome of the work elsewhere.
const deadlineGrace = 3 * time.Second

// awaitContext waits for the store, and returns the delegation context.
func (r *run) awaitContext() (dc *delegation.Context, err error) {
	_, err = patient(r, func() (_ []byte, err error) {
		dc, err = r.delegationContext(r.ctx)
		return nil, err
	})
	return dc, err
}

// enforceDeadline ends the run at the deadline of its delegation context, unless done is called
// before. It returns an error if the deadline has passed, unless the agent enforces its time
// itself.
func (r *run) enforceDeadline() (done func(), err error) {
	dc, err := r.delegationContext(r.ctx)
	if errors.Is(err, task.ErrUnavailable) {
		dc, err = r.awaitContext()
	}
	if err != nil || dc == nil || dc.Deadline.IsZero() {
		return func() {}, err
	}
	left := time.Until(dc.Deadline)
	switch {
	case r.traits.Silence < 0:
		left = max(left, 0) + deadlineGrace
	case left <= 0:
		return nil, public(dc.Admit(r.engine.self(r.agent.Name), time.Now()))
	}
	if !r.engine.work.join() {
		return func() {}, nil
	}
	due := time.AfterFunc(left, func() {
		defer r.engine.work.leave()
		r.engine.cfg.Logger.Info("deadline has passed", "agent", r.agent.Name, "task", r.live.ref.id, "deadline", dc.Deadline)
		r.status(task.Failed, "the deadline of the task has passed: "+dc.Deadline.UTC().Format(time.RFC3339Nano))
		r.stop(errDeadline)
		r.settle()
	})
	return func() {
		if due.Stop() {
			r.engine.work.leave()
		}
	}, nil
}

// errDeadline is the cause with which the context of a late executor is canceled.
var errDeadline = apierror.New(apierror.ErrUnavailable, "the deadline of the task has passed")
