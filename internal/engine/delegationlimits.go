package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/delegation"
	"github.com/parley-a2a/parley/internal/task"
)

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
	key, begun := r.live.snapshot().Key, 0
	for after := task.Key(0); ; {
		heads, err := task.Children(ctx, r.engine.store, key, after, childPage)
		if err != nil {
			return err
		}
		begun += len(heads)
		if len(heads) < childPage {
			s.children, s.counted = begun, true
			return nil
		}
		after = heads[len(heads)-1].Key
	}
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
		r.failLate(dc.Deadline)
	})
	return func() {
		if due.Stop() {
			r.engine.work.leave()
		}
	}, nil
}

// errDeadline is the cause with which the context of a late executor is canceled.
var errDeadline = apierror.New(apierror.ErrUnavailable, "the deadline of the task has passed")

// failLate fails the task of a run whose deadline has passed.
func (r *run) failLate(deadline time.Time) {
	r.engine.cfg.Logger.Info("deadline has passed", "agent", r.agent.Name, "task", r.live.ref.id, "deadline", deadline)
	r.status(task.Failed, "the deadline of the task has passed: "+deadline.UTC().Format(time.RFC3339Nano))
	r.stop(errDeadline)
	r.settle()
}
