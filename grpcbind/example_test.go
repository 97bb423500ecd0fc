package grpcbind_test

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/grpcbind"
)

// A hub serves gRPC on a listener of its own, and a client calls it there.
func Example() {
	hub := &parley.Hub{}
	hub.Handle(&a2a.AgentCard{Name: "Shout"}, agent.Func(
		func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			answer := a2a.NewTextPart(strings.ToUpper(ec.Message.Parts[0].Text()))
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, answer)), nil)
		}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 2)
	go func() { done <- hub.Run(ctx) }()
	go func() { done <- grpcbind.New(grpcbind.Config{Engine: hub.Engine()}).Serve(ctx, l) }()

	c, err := client.New(&a2a.AgentCard{SupportedInterfaces: []*a2a.AgentInterface{
		a2a.NewAgentInterface("http://"+l.Addr().String(), a2a.TransportProtocolGRPC),
	}}, client.Options{Transports: map[a2a.TransportProtocol]client.Transport{a2a.TransportProtocolGRPC: grpcbind.Transport()}})
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
