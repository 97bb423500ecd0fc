package hubtools

import (
	"context"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
)

type getTaskArgs struct {
	taskArgs
	offsetArgs
}

type listTasksArgs struct {
	Agent     string `json:"agent_name,omitempty" max:"200" jsonschema:"Only tasks of this agent."`
	ContextID string `json:"context_id,omitempty" max:"200" jsonschema:"Only tasks of this conversation."`
	State     string `json:"state,omitempty" enum:"submitted,working,input-required,auth-required,completed,failed,canceled,rejected" jsonschema:"Only tasks in this state."`
	Limit     whole  `json:"limit,omitempty" min:"1" max:"100" default:"20" jsonschema:"How many tasks at most."`
	PageToken string `json:"page_token,omitempty" max:"2000" jsonschema:"The next_page_token of the last page."`
}

func (b *Toolbox) following() []llm.Tool {
	return []llm.Tool{
		offer(b, llm.Tool{
			Name: "get_task", Title: "Look at a task", Output: resultOf[report](), ReadOnly: true,
			Description: "Returns the state of a task, why it waits, and its result or its question. Do not call it again and again without a pause: do something else meanwhile.",
		}, b.getTask),
		offer(b, llm.Tool{
			Name: "cancel_task", Title: "Cancel a task", Output: resultOf[report](), Idempotent: true, Destructive: true,
			Description: "Cancels a task that is no longer needed. A task that has ended cannot be canceled.",
		}, b.cancelTask),
		offer(b, llm.Tool{
			Name: "list_tasks", Title: "List tasks", Output: resultOf[taskPage](), ReadOnly: true,
			Description: "Lists tasks, the last changed first. Results are not in it: get_task gives them.",
		}, b.listTasks),
	}
}

func (b *Toolbox) getTask(ctx context.Context, c *call, args *getTaskArgs) (*llm.Result, error) {
	sent, err := b.Hub.Task(ctx, args.Task)
	if err != nil {
		return nil, err
	}
	return b.taskReport(c, sent, int(args.Offset))
}

func (b *Toolbox) cancelTask(ctx context.Context, c *call, args *taskArgs) (*llm.Result, error) {
	sent, err := b.Hub.Cancel(ctx, args.Task)
	if err != nil {
		return nil, err
	}
	return b.taskReport(c, sent, 0)
}

func (b *Toolbox) taskReport(c *call, sent *hubclient.Sent, offset int) (*llm.Result, error) {
	r := b.reportOf(c, sent, offset)
	r.Next = b.nextOf(sent, &talk{}, "Do something else before you ask again.")
	return b.answer(sent, &r)
}

// listedTask is a task in a list.
type listedTask struct {
	Agent     string     `json:"agent"`
	TaskID    a2a.TaskID `json:"task_id"`
	ContextID string     `json:"context_id,omitempty"`
	State     string     `json:"state"`
	Waiting   string     `json:"waiting,omitempty" jsonschema:"Why the task waits, such as no-worker or agent-paused."`
	Updated   time.Time  `json:"updated,omitzero"`
}

type taskPage struct {
	Tasks []listedTask `json:"tasks"`
	Next  string       `json:"next_page_token,omitempty"`
}

func (b *Toolbox) listTasks(ctx context.Context, _ *call, args *listTasksArgs) (*llm.Result, error) {
	q := &hubclient.TaskQuery{Agent: args.Agent, ContextID: args.ContextID, Limit: int(args.Limit), PageToken: args.PageToken}
	if args.State != "" {
		q.State = a2a.TaskState("TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(args.State, "-", "_")))
	}
	page, err := b.Hub.Tasks(ctx, q)
	if err != nil {
		return nil, err
	}
	answer := taskPage{[]listedTask{}, page.NextPageToken}
	for i := range page.Tasks {
		t := &page.Tasks[i]
		contextID := t.ContextID
		if !guard.IsName(contextID) {
			contextID = "" // a caller has named it
		}
		answer.Tasks = append(answer.Tasks, listedTask{plainName(t.Agent), t.TaskID, contextID, client.StateName(a2a.TaskState(t.State)), t.Waiting.HeldBy(), t.ChangedAt})
	}
	return structured(&answer)
}
