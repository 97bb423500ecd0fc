package main

import (
	"context"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// advisor thinks about every question and always gives the same advice.
type advisor struct{ thinking time.Duration }

func (a advisor) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if !yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateWorking, nil), nil) {
			return
		}
		select {
		case <-time.After(a.thinking):
			answer := a2a.NewMessageForTask(a2a.MessageRoleAgent, x, a2a.NewTextPart("Take the blue one."))
			yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, answer), nil)
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
		}
	}
}

func (advisor) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}
