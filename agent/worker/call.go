package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/task"
)

// context returns what the executor is called with.
func (j *workJob) context() (*a2asrv.ExecutorContext, context.Context, error) {
	w := j.workNow()
	x := &a2asrv.ExecutorContext{TaskID: a2a.TaskID(j.key.task), ContextID: w.ContextID}
	var err error
	if x.Message, err = task.DecodeMessage(w.Message); err != nil {
		return nil, nil, err
	}
	if len(w.Metadata) > 0 {
		if x.Metadata, err = task.DecodeMetadata(w.Metadata); err != nil {
			return nil, nil, fmt.Errorf("decode metadata: %w", err)
		}
	}
	if len(w.Stored) > 0 {
		if x.StoredTask, err = task.DecodeTask(w.Stored); err != nil {
			return nil, nil, err
		}
	}
	principal := j.env.Principal
	if principal == nil {
		principal = &auth.Principal{ID: auth.Local}
	}
	x.User = userOf(principal)
	params := map[string][]string{}
	for name, value := range j.env.Trace {
		params[name] = []string{value}
	}
	trace.Clean(params)
	ctx := trace.WithIDs(trace.Extract(j.exec, params), trace.IDs{Correlation: j.env.Correlation, Parent: w.ParentID})
	if len(w.Extensions) > 0 {
		params[a2a.SvcParamExtensions] = w.Extensions
	}
	x.ServiceParams = a2asrv.NewServiceParams(params)
	ctx, call := a2asrv.NewCallContext(auth.WithPrincipal(ctx, principal), x.ServiceParams)
	call.User = x.User
	for _, uri := range w.Extensions {
		call.Extensions().Activate(&a2a.AgentExtension{URI: uri})
	}
	return x, agent.WithCall(ctx, agent.NewCall(agent.Call{
		Key: w.Key, Attempt: w.Attempt, Agent: j.shift.Name, Skill: w.Skill, Message: w.Message, Metadata: w.Metadata, Others: w.Others,
		Extensions: w.Extensions, Task: w.Stored, CorrelationID: j.env.Correlation, ParentID: w.ParentID,
	}, jobRun{j})), nil
}

func userOf(p *auth.Principal) *a2asrv.User {
	name := p.DisplayName
	if name == "" {
		name = p.ID
	}
	u := &a2asrv.User{Name: name, Authenticated: !p.Anonymous()}
	if len(p.Claims) > 0 || !p.Anonymous() {
		u.Attributes = map[string]any{"id": p.ID}
		for k, v := range p.Claims {
			u.Attributes[k] = v
		}
	}
	return u
}

// jobRun is what a worker does for a run.
type jobRun struct{ *workJob }

var (
	_ agent.Run   = jobRun{}
	_ agent.Envoy = jobRun{}
)

// errLost is why what was yielded may not become durable.
var errLost = errors.New("run does not count any more")

// Flush implements Run: it waits until the hub has confirmed.
func (j jobRun) Flush(ctx context.Context) error {
	watched, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(j.ctx, stop)()
	switch {
	case j.out.flush(watched):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return errLost
}

// Checkpoint implements Run: checkpoints do not go over a bus.
func (j jobRun) Checkpoint([]byte) {}

// Asked implements Run.
func (j jobRun) Asked() <-chan struct{} { return j.asked }

// Onward implements Envoy.
func (j jobRun) Onward(context.Context) (*agent.Errand, error) {
	if j.work.Alone != "" {
		return nil, a2a.NewError(a2a.ErrUnsupportedOperation, j.work.Alone)
	}
	return &agent.Errand{Chain: j.env.Chain, Hops: j.work.Hops, Budget: j.work.Budget, Deadline: j.env.Deadline.Time()}, nil
}

// stateAfter returns the state that an event sets; empty if it sets none.
func stateAfter(ev a2a.Event) a2a.TaskState {
	switch ev := ev.(type) {
	case *a2a.TaskStatusUpdateEvent:
		return ev.Status.State
	case *a2a.Task:
		return ev.Status.State
	case *agent.Raw:
		for _, name := range [...]string{"statusUpdate", "task"} {
			if v := rawjson.Member(ev.JSON, name); v != nil {
				state, _ := rawjson.String(rawjson.Member(rawjson.Member(v, "status"), "state"))
				return a2a.TaskState(state)
			}
		}
	}
	return ""
}
