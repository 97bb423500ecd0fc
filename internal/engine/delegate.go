package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// childPage is the number of children that are read and canceled in one step.
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

// canceled reports whether the task of the run is canceled, or cancellation is requested.
func (r *run) canceled() bool {
	h := r.live.snapshot()
	return h.CancelAt != 0 || h.State == task.Canceled
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
	key := l.snapshot().Key
	for after := task.Key(0); ; {
		heads, err := task.Children(e.ctx, e.store, key, after, childPage)
		if err != nil {
			return fmt.Errorf("cancel children of %s: %w", l.ref.id, err)
		}
		for _, h := range heads {
			after = h.Key
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
		if len(heads) < childPage {
			return nil
		}
	}
}

// cancelChild requests the cancellation of a child, and does not wait for it.
func (e *Engine) cancelChild(l *live, c *op.Caller) {
	r := &op.Cancel{ID: l.ref.id}
	mine, err := e.requestCancel(l)
	switch {
	case err == nil && mine:
		e.startCancel(l, &cancelCall{c, r})
	case err != nil && !l.snapshot().State.Terminal():
		e.deferWork(l, func(u *pendingWork) { u.cancel = &cancelCall{c, r} })
		e.cancelFailed(l, err)
	}
}
