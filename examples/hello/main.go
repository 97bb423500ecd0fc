// Command hello is a hub with one agent, which greets whoever sends it a name.
package main

import (
	"context"
	"iter"
	"log"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley"
)

type hello struct{}

func (hello) Execute(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		reply := a2a.NewTextPart("Hello, " + x.Message.Parts[0].Text() + "!")
		yield(a2a.NewMessage(a2a.MessageRoleAgent, reply), nil)
	}
}

func (hello) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}

func main() {
	var hub parley.Hub
	hub.Handle(&a2a.AgentCard{Name: "hello"}, hello{})
	log.Fatal(hub.ListenAndServe(context.Background(), "127.0.0.1:4100"))
}
