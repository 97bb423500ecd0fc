package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// diary turns each message into a task, and knows the name of its caller.
type diary struct{}

func (diary) Execute(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		text := fmt.Sprintf("%s writes: %s", x.User.Name, x.Message.Parts[0].Text())
		answer := a2a.NewMessageForTask(a2a.MessageRoleAgent, x, a2a.NewTextPart(text))
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, answer), nil)
	}
}

func (diary) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}
