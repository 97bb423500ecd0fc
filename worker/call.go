package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/execution"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
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
	return x, agent.WithCall(execution.WithRun(execution.WithUser(ctx, x, principal, w.Extensions), agentRun{job: j}), &agent.Call{
		Key: w.Key, Attempt: w.Attempt, Agent: j.run.Name, Skill: w.Skill, Message: w.Message, Metadata: w.Metadata, Others: w.Others,
		Extensions: w.Extensions, Task: w.Stored, CorrelationID: j.env.Correlation, ParentID: w.ParentID,
		AcceptedOutputModes: w.AcceptedOutputModes,
	}), nil
}

// agentRun is the hub's side of the run of a worker's executor. The protocol of workers has no
// checkpoints, journals and delegation: for these it is a nil Call.
type agentRun struct {
	*agent.Call
	job *job
}

// errLost is returned by Flush if the hub may never store the events.
var errLost = errors.New("the run was superseded")

// Flush waits until the hub has confirmed all events.
func (r agentRun) Flush(ctx context.Context) error {
	watched, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(r.job.ctx, stop)()
	switch {
	case r.job.buffer.flush(watched):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return errLost
}

// MessageWaiting returns a channel that is closed once a message waits.
func (r agentRun) MessageWaiting() <-chan struct{} { return r.job.asked }

// OutgoingDelegation returns the delegation context that came with the work.
func (r agentRun) OutgoingDelegation(context.Context) (*agent.DelegationContext, error) {
	w := r.job.work
	if w.Alone != "" {
		return nil, a2a.NewError(a2a.ErrUnsupportedOperation, w.Alone)
	}
	return &agent.DelegationContext{Chain: r.job.env.Chain, Hops: w.Hops, Budget: w.Budget, Deadline: r.job.env.Deadline.Time()}, nil
}
