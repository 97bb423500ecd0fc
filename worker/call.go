package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/task"
)

// callContext returns the context and the arguments for calling the executor.
func (j *job) callContext() (*a2asrv.ExecutorContext, context.Context, error) {
	w := j.currentWork()
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
	return x, agent.WithCall(agent.WithUser(ctx, x, principal, w.Extensions), agent.NewCall(agent.Call{
		Key: w.Key, Attempt: w.Attempt, Agent: j.run.Name, Skill: w.Skill, Message: w.Message, Metadata: w.Metadata, Others: w.Others,
		Extensions: w.Extensions, Task: w.Stored, CorrelationID: j.env.Correlation, ParentID: w.ParentID,
		AcceptedOutputModes: w.AcceptedOutputModes,
	}, agentRun{j})), nil
}

// agentRun implements agent.Run for executors of a worker.
type agentRun struct{ *job }

var (
	_ agent.Run        = agentRun{}
	_ agent.Propagator = agentRun{}
)

// errLost is returned by Flush if the hub may never store the events.
var errLost = errors.New("the run was superseded")

// Flush implements agent.Run: it waits until the hub has confirmed all events.
func (j agentRun) Flush(ctx context.Context) error {
	watched, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(j.ctx, stop)()
	switch {
	case j.buffer.flush(watched):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return errLost
}

// Checkpoint implements agent.Run. It drops blob, because the protocol of workers has no
// checkpoints.
func (j agentRun) Checkpoint([]byte) {}

// MessageWaiting implements agent.Run.
func (j agentRun) MessageWaiting() <-chan struct{} { return j.asked }

// OutgoingDelegation implements agent.Propagator.
func (j agentRun) OutgoingDelegation(context.Context) (*agent.DelegationContext, error) {
	if j.work.Alone != "" {
		return nil, a2a.NewError(a2a.ErrUnsupportedOperation, j.work.Alone)
	}
	return &agent.DelegationContext{Chain: j.env.Chain, Hops: j.work.Hops, Budget: j.work.Budget, Deadline: j.env.Deadline.Time()}, nil
}
