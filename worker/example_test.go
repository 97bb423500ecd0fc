package worker_test

import (
	"context"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/worker"
)

// A worker has a handler for each skill of its agent. The other end of the bus is a hub with
// a parley.QueueAgent; see the example of parley.Hub.
func ExampleWorker() {
	sing := agent.Func(func(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(agent.Status(x, a2a.TaskStateCompleted, a2a.NewTextPart("la la la")), nil)
	})
	w := &worker.Worker{
		Bus: new(worker.Memory), Name: "singer",
		Skills: []worker.Skill{{AgentSkill: a2a.AgentSkill{ID: "sing", Description: "Sings a song."}, Handler: sing}},
	}
	ctx, stop := context.WithCancel(context.Background())
	stop() // at once: a worker runs until its context ends
	fmt.Println(w.Run(ctx))
	// Output: <nil>
}
