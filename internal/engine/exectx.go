package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/delegation"
	"github.com/parley-a2a/parley/internal/execution"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/usertoken"
)

// callRecord holds the data of a call that a run needs beside the message. It is stored in
// Entry.Call.
type callRecord struct {
	Principal *auth.Principal     `json:"principal,omitempty"`
	Metadata  json.RawMessage     `json:"metadata,omitempty"`
	Params    map[string][]string `json:"params,omitempty"`
	// Extensions are those that the caller named. The agent that runs determines which of them
	// are active.
	Extensions []string `json:"extensions,omitempty"`
	Tenant     string   `json:"tenant,omitempty"`
	Skill      string   `json:"skill,omitempty"`
	// Others is op.Send.Others, and Accepted is op.Send.AcceptedOutputModes.
	Others   json.RawMessage `json:"others,omitempty"`
	Accepted []string        `json:"accepted,omitempty"`
}

// recordOf returns the record of a call. The principal is a copy, because executors see
// it and authenticators keep theirs.
func recordOf(c *op.Caller, r *op.Send, dc *delegation.Context) *callRecord {
	p := *c.Principal
	p.Roles, p.Claims = slices.Clone(p.Roles), maps.Clone(p.Claims)
	rec := &callRecord{
		Principal: &p, Metadata: r.Metadata, Params: c.Params,
		Extensions: c.Extensions, Tenant: r.Tenant, Skill: r.Message.Skill, Others: r.Others, Accepted: r.AcceptedOutputModes,
	}
	if dc != nil {
		rec.Params = delegation.Store(maps.Clone(rec.Params), dc)
	}
	return rec
}

// encode returns the stored form of the record; nil if every field has its default.
func (rec *callRecord) encode() ([]byte, error) {
	plain := len(rec.Metadata) == 0 && len(rec.Params) == 0 && len(rec.Extensions) == 0 && rec.Tenant == "" && rec.Skill == "" &&
		len(rec.Others) == 0 && len(rec.Accepted) == 0
	if plain && rec.Principal.Anonymous() {
		return nil, nil
	}
	return json.Marshal(rec)
}

func decodeCall(b []byte) (*callRecord, error) {
	rec := new(callRecord)
	if len(b) > 0 {
		if err := json.Unmarshal(b, rec); err != nil {
			return nil, fmt.Errorf("decode call: %w", err)
		}
	}
	if rec.Principal == nil {
		rec.Principal = &auth.Principal{ID: auth.Local, DisplayName: auth.Local}
	}
	return rec, nil
}

// context returns the execution context for the executor of r, and its Go context.
func (r *run) context() (*a2asrv.ExecutorContext, context.Context, error) {
	rec, err := r.record()
	if err != nil {
		return nil, nil, err
	}
	ctx, ids := r.observe(rec)
	body, err := patient(r, r.filledMessage)
	if err != nil {
		return nil, nil, err
	}
	msg, err := task.DecodeMessage(body)
	if err != nil {
		return nil, nil, fmt.Errorf("decode message: %w", err)
	}
	ctx = usertoken.With(ctx, r.live.bearerOf(r.msg.version))
	ec, ctx, err := r.engine.execContext(ctx, r.live, r.agent.Name, r.traced(ctx, rec))
	if err != nil {
		return nil, nil, err
	}
	ec.Message = msg
	if r.engine.cfg.Interest.Ends {
		r.live.ranWith(rec.Skill)
	}
	r.round = 1
	var stored []byte
	if r.msg.version > 1 {
		if stored, err = patient(r, r.storedTask); err != nil {
			return nil, nil, err
		}
		if ec.StoredTask, err = task.DecodeTask(stored); err != nil {
			return nil, nil, err
		}
	}
	ec.RelatedTasks = r.engine.related(r.ctx, r.live.ref.owner, msg.ReferenceTasks)
	call := agent.Call{
		Key:        string(r.live.ref.id) + "/" + strconv.FormatInt(r.msg.version, 10),
		Attempt:    r.attempt,
		Agent:      r.agent.Name,
		Skill:      rec.Skill,
		Message:    body,
		Metadata:   rec.Metadata,
		Others:     rec.Others,
		Task:       stored,
		Extensions: r.engine.Activated(r.agent.Name, rec.Extensions),

		AcceptedOutputModes: rec.Accepted,

		CorrelationID: ids.Correlation, ParentID: ids.Parent,
	}
	if r.resumes() && (r.attempt > 1 || r.msg.version > 1) {
		if _, err := patient(r, func() ([]byte, error) { return nil, r.engine.resumeCall(r.ctx, r.live, &call) }); err != nil {
			return nil, nil, err
		}
	}
	return ec, agent.WithCall(execution.WithRun(ctx, r), &call), nil
}

// patient calls f until the store answers, or the run ends: a store that cannot be read for a while
// fails no task.
func patient(r *run, f func() ([]byte, error)) ([]byte, error) {
	for {
		b, err := f()
		if !errors.Is(err, task.ErrUnavailable) {
			return b, err
		}
		r.live.reportTrouble(err)
		select {
		case <-time.After(retryDelay):
		case <-r.ctx.Done():
			return nil, fmt.Errorf("%w: %w", context.Cause(r.ctx), err)
		}
	}
}

// execContext returns the part of an executor's context that runs and cancellations share.
func (e *Engine) execContext(ctx context.Context, l *live, name task.Agent, rec *callRecord) (*a2asrv.ExecutorContext, context.Context, error) {
	ec := &a2asrv.ExecutorContext{
		TaskID: l.ref.id, ContextID: l.contextID, Tenant: rec.Tenant,
		ServiceParams: serviceParams(rec),
	}
	if len(rec.Metadata) > 0 {
		var err error
		if ec.Metadata, err = task.DecodeMetadata(rec.Metadata); err != nil {
			return nil, nil, fmt.Errorf("decode metadata: %w", err)
		}
	}
	if e.cfg.Asserter != nil {
		ctx = auth.WithAsserter(ctx, e.cfg.Asserter)
	}
	return ec, execution.WithUser(ctx, ec, rec.Principal, e.Activated(name, rec.Extensions)), nil
}

// serviceParams returns the service parameters in the form that the SDK's executors expect:
// each extension that the caller named is one value, regardless of its header.
func serviceParams(rec *callRecord) *a2asrv.ServiceParams {
	p := a2asrv.NewServiceParams(rec.Params)
	if len(rec.Extensions) == 0 {
		return p
	}
	return p.With(map[string][]string{a2a.SvcParamExtensions: rec.Extensions})
}

// stored returns the task as the SDK's struct.
func (e *Engine) stored(ctx context.Context, l *live) (*a2a.Task, error) {
	h := l.snapshot()
	f, err := e.fold(ctx, l, &h)
	if err != nil {
		return nil, err
	}
	return task.DecodeTask(e.filledTask(l, f, &h))
}

// storedTask returns the task as JSON, and adds its earlier questions to r.round.
func (r *run) storedTask() ([]byte, error) {
	h := r.live.snapshot()
	f, err := r.engine.fold(r.ctx, r.live, &h)
	if err != nil {
		return nil, err
	}
	r.round += len(turnsOf(f))
	return r.engine.filledTask(r.live, f, &h), nil
}

// maxRelated limits the number of tasks that a message can refer to.
const maxRelated = 16

// related returns the tasks of the owner that a message refers to. It omits tasks that do not
// exist.
func (e *Engine) related(ctx context.Context, owner task.Owner, ids []a2a.TaskID) []*a2a.Task {
	var tasks []*a2a.Task
	for _, id := range ids[:min(len(ids), maxRelated)] {
		l, err := e.open(ctx, ref{owner, id})
		if err != nil {
			continue
		}
		if t, err := e.stored(ctx, l); err == nil && l.snapshot().Visibility == task.Visible {
			tasks = append(tasks, t)
		}
		e.live.release(l)
	}
	return tasks
}

// WantsBearers reports whether agents receive the tokens of callers, so that bindings have to
// pass them on.
func (e *Engine) WantsBearers() bool { return e != nil && e.cfg.Bearers }

// keepBearer keeps the token of the message at a version in memory until a run has processed
// the message. before is the version under which an earlier attempt of the change kept it, zero
// at first.
func (l *live) keepBearer(before *int64, version int64, t usertoken.Token) {
	if t == (usertoken.Token{}) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.bearers, *before)
	if l.bearers == nil {
		l.bearers = make(map[int64]usertoken.Token)
	}
	l.bearers[version], *before = t, version
}

// bearerOf returns the token of the message at a version; the zero Token if there is none.
func (l *live) bearerOf(version int64) usertoken.Token {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bearers[version]
}

// dropBearer removes the token of the message at a version.
func (l *live) dropBearer(version int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.bearers, version)
}
