package tracing

import (
	"context"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// agentFunc is an executor that is a function.
type agentFunc func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool)

// Execute implements a2asrv.AgentExecutor.
func (f agentFunc) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { f(ctx, ec, yield) }
}

// Cancel implements a2asrv.AgentExecutor.
func (agentFunc) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(&a2a.TaskStatusUpdateEvent{TaskID: ec.TaskID, ContextID: ec.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateCanceled}}, nil)
	}
}
