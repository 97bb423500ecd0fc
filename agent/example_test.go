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
