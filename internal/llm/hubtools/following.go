package hubtools

import (
	"context"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/args"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
)

// maxTasks is the largest number of tasks in a list.
const maxTasks = 100

func (b *Toolbox) following() []tool {
	list := args.Fields{
		{Name: "agent_name", Max: maxName, Description: "Only tasks of this agent."},
		{Name: "context_id", Max: maxName, Description: "Only tasks of this conversation."},
		{Name: "state", Enum: stateNames(), Description: "Only tasks in this state."},
		{Name: "limit", Kind: args.Whole, Min: 1, Max: maxTasks, Default: 20, Description: "How many tasks at most."},
		{Name: "page_token", Max: 2000, Description: "The next_page_token of the last page."},
	}
	look := args.Fields{taskField, offsetField}
	return []tool{
		{fields: look, run: b.getTask, Tool: llm.Tool{
			Name: "get_task", Title: "Look at a task", Output: schemaOf(reportMembers), ReadOnly: true,
			Description: "Returns the state of a task, why it waits, and its result or its question. Do not call it again and again without a pause: do something else meanwhile.",
		}},
		{fields: args.Fields{taskField}, run: b.cancelTask, Tool: llm.Tool{
			Name: "cancel_task", Title: "Cancel a task", Output: schemaOf(reportMembers), Idempotent: true, Destructive: true,
			Description: "Cancels a task that is no longer needed. A task that has ended cannot be canceled.",
		}},
		{fields: list, run: b.listTasks, Tool: llm.Tool{
			Name: "list_tasks", Title: "List tasks", Output: schemaOf(taskOutput), ReadOnly: true,
			Description: "Lists tasks, the last changed first. Results are not in it: get_task gives them.",
		}},
	}
}

// states are the states of tasks that a model may name.
var states = []a2a.TaskState{
	a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired,
	a2a.TaskStateCompleted, a2a.TaskStateFailed, a2a.TaskStateCanceled, a2a.TaskStateRejected,
}

func stateNames() []string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = client.StateName(s)
	}
	return names
}

func (b *Toolbox) getTask(ctx context.Context, c *call) (*llm.Result, error) {
	return b.taskReport(ctx, c, b.Hub.Task)
}

func (b *Toolbox) cancelTask(ctx context.Context, c *call) (*llm.Result, error) {
	return b.taskReport(ctx, c, b.Hub.Cancel)
}

func (b *Toolbox) taskReport(ctx context.Context, c *call, f func(context.Context, a2a.TaskID) (*hubclient.Sent, error)) (*llm.Result, error) {
	sent, err := f(ctx, a2a.TaskID(c.args.Text("task_id")))
	if err != nil {
		return nil, err
	}
	r := b.reportOf(c, sent)
	r.Next = b.nextOf(sent, &talk{}, "Do something else before you ask again.")
	return b.answer(sent, &r)
}

// listedTask is a task in a list.
type listedTask struct {
	Agent     string     `json:"agent"`
	TaskID    a2a.TaskID `json:"task_id"`
	ContextID string     `json:"context_id,omitempty"`
	State     string     `json:"state"`
	Waiting   string     `json:"waiting,omitempty"`
	Updated   *time.Time `json:"updated,omitempty"`
}

func (b *Toolbox) listTasks(ctx context.Context, c *call) (*llm.Result, error) {
	q := &hubclient.TaskQuery{
		Agent: c.args.Text("agent_name"), ContextID: c.args.Text("context_id"),
		Limit: int(c.args.Number("limit", 20)), PageToken: c.args.Text("page_token"),
	}
	if name := c.args.Text("state"); name != "" {
		q.State = states[slices.Index(stateNames(), name)]
	}
	page, err := b.Hub.Tasks(ctx, q)
	if err != nil {
		return nil, err
	}
	answer := struct {
		Tasks []listedTask `json:"tasks"`
		Next  string       `json:"next_page_token,omitempty"`
	}{[]listedTask{}, page.NextPageToken}
	for i := range page.Tasks {
		t := &page.Tasks[i]
		contextID := t.ContextID
		if !guard.IsName(contextID) {
			contextID = "" // a caller has named it
		}
		answer.Tasks = append(answer.Tasks, listedTask{plainName(t.Agent), t.TaskID, contextID, client.StateName(a2a.TaskState(t.State)), t.Waiting.HeldBy(), &t.ChangedAt})
	}
	return structured(&answer)
}
