package task_test

import (
	"fmt"

	"github.com/parley-a2a/parley/internal/task"
)

// Apply derives a change from a head, a store stores it, and a Fold shows it.
func Example() {
	h := task.Head{ID: "t-1", ContextID: "c-1"}
	var f task.Fold
	for _, e := range []task.Entry{
		{
			Kind: task.Created, State: task.Submitted, At: 1773306300000,
			Body: []byte(`{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"what is six times seven?"}]}`),
		},
		{
			Kind: task.Artifact, At: 1773306300250, ArtifactID: "a-1",
			Body: []byte(`{"artifactId":"a-1","parts":[{"text":"42"}]}`),
		},
		{Kind: task.Status, State: task.Completed, At: 1773306300251},
		{Kind: task.Status, State: task.Working, At: 1773306300252},
	} {
		next, stored, err := task.Apply(h, e)
		if err != nil {
			fmt.Println(err)
			continue
		}
		h = next
		if err := f.Add(&stored); err != nil {
			fmt.Println(err)
		}
	}
	none := 0
	fmt.Println(string(f.AppendTask(nil, &h, task.TaskOptions{History: &none, Artifacts: true})))
	fmt.Println(f.ReplyText())
	// Output:
	// TASK_STATE_COMPLETED: task has ended: illegal event
	// {"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-03-12T09:05:00.251Z"},"artifacts":[{"artifactId":"a-1","parts":[{"text":"42"}]}]}
	// 42
}
