package client_test

import (
	"context"
	"fmt"
	"log"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
)

func ExampleDial() {
	ctx := context.Background()
	c, err := client.Dial(ctx, "http://127.0.0.1:4100", client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	hello := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hello"))
	var reply client.Fold
	for event, err := range c.Stream(ctx, &a2a.SendMessageRequest{Message: hello}) {
		if err != nil {
			log.Fatal(err)
		}
		reply.Apply(event)
	}
	fmt.Println(reply.Task.Status.State)
}

func ExampleFold() {
	task := a2a.TaskInfo{TaskID: "t", ContextID: "c"}
	var reply client.Fold
	for _, word := range []string{"hello", " world"} {
		reply.Apply(a2a.NewArtifactUpdateEvent(task, "answer", a2a.NewTextPart(word)))
	}
	reply.Apply(a2a.NewStatusUpdateEvent(task, a2a.TaskStateCompleted, nil))
	for _, part := range reply.Task.Artifacts[0].Parts {
		fmt.Print(part.Text())
	}
	fmt.Println(":", reply.Task.Status.State)
	// Output: hello world: TASK_STATE_COMPLETED
}
