package remote_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/client"
)

// A hub keeps the tasks of an agent that runs elsewhere.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 2)

	elsewhere := &parley.Hub{}
	elsewhere.Handle(&a2a.AgentCard{Name: "Shout"}, agent.Func(
		func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			answer := a2a.NewTextPart(strings.ToUpper(ec.Message.Parts[0].Text()))
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, answer)), nil)
		}))
	go func() { done <- elsewhere.Run(ctx) }()
	far := httptest.NewServer(elsewhere.Handler())
	defer far.Close()

	hub := &parley.Hub{}
	hub.Handle(&a2a.AgentCard{Name: "Far"}, &remote.Agent{URL: far.URL})
	go func() { done <- hub.Run(ctx) }()
	near := httptest.NewServer(hub.Handler())
	defer near.Close()

	c, err := client.Dial(ctx, near.URL, client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	hello := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hello"))
	answer, err := c.Send(ctx, &a2a.SendMessageRequest{Message: hello})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.(*a2a.Task).Status.Message.Parts[0].Text())

	_ = c.Close()
	stop()
	fmt.Println(<-done, <-done)
	// Output:
	// HELLO
	// <nil> <nil>
}
