// Command hello is a hub with one agent, which greets each caller that sends a name.
package main

import (
	"context"
	"log"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
)

func main() {
	var hub parley.Hub
	hub.Handle(&a2a.AgentCard{Name: "hello"}, agent.Func(hello))
	log.Fatal(hub.ListenAndServe(context.Background(), "127.0.0.1:4100"))
}

func hello(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	greeting := a2a.NewTextPart("Hello, " + agent.Text(x.Message) + "!")
	yield(a2a.NewMessage(a2a.MessageRoleAgent, greeting), nil)
}
