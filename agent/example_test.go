package agent_test

import (
	"context"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
)

// A single function is enough for an agent.
func ExampleFunc() {
	greet := agent.Func(func(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("Hello, "+agent.Text(x.Message)+"!")), nil)
	})
	x := &a2asrv.ExecutorContext{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("Ann"))}
	for event, err := range greet.Execute(context.Background(), x) {
		fmt.Println(agent.Text(event.(*a2a.Message)), err)
	}
	// Output: Hello, Ann! <nil>
}

// An executor that the hub may run again after a crash declares that.
func ExampleWith() {
	count := agent.Func(func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) {})
	fmt.Println(agent.TraitsOf(count).AfterCrash, agent.TraitsOf(agent.With(count, agent.Traits{AfterCrash: agent.Repeat})).AfterCrash)
	// Output: fail repeat
}

// An agent with the trait Resume continues after a crash from its last checkpoint: here an earlier
// execution has read two of three pages.
func ExampleCall_Checkpoint() {
	read := agent.With(agent.Func(func(ctx context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		call := agent.CallFrom(ctx)
		for page := len(call.Saved) + 1; page <= 3; page++ {
			text := a2a.NewTextPart(fmt.Sprintf("page %d", page))
			if err := call.Checkpoint(make([]byte, page)); err != nil {
				yield(nil, err)
				return
			}
			if !yield(agent.Artifact(x, &a2a.Artifact{ID: a2a.NewArtifactID(), Parts: a2a.ContentParts{text}}), nil) {
				return
			}
		}
		yield(agent.Status(x, a2a.TaskStateCompleted), nil)
	}), agent.Traits{AfterCrash: agent.Resume})

	ctx := agent.WithCall(context.Background(), &agent.Call{Attempt: 2, Saved: make([]byte, 2)})
	for event := range read.Execute(ctx, &a2asrv.ExecutorContext{TaskID: "t"}) {
		switch event := event.(type) {
		case *a2a.TaskArtifactUpdateEvent:
			fmt.Println(event.Artifact.Parts[0].Text())
		case *a2a.TaskStatusUpdateEvent:
			fmt.Println(event.Status.State)
		}
	}
	// Output:
	// page 3
	// TASK_STATE_COMPLETED
}
