package main

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
)

// reporter works on a report for a while.
type reporter struct{ work time.Duration }

// Traits declares that the hub may repeat a run that a crash has interrupted.
func (reporter) Traits() agent.Traits { return agent.Traits{AfterCrash: agent.Repeat} }

func (r reporter) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if !yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateWorking, nil), nil) {
			return
		}
		select {
		case <-time.After(r.work):
			text := fmt.Sprintf("Report on %s, done at attempt %d.", x.Message.Parts[0].Text(), agent.CallFrom(ctx).Attempt)
			answer := a2a.NewMessageForTask(a2a.MessageRoleAgent, x, a2a.NewTextPart(text))
			yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, answer), nil)
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
		}
	}
}

func (reporter) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}
