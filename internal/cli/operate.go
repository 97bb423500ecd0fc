package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/task"
)

type operatedTask struct {
	hubFlags
	ID    string `arg:"" help:"The id of the task, or its beginning."`
	Owner string `help:"The owner of the task, if several callers have one with the id." placeholder:"OWNER"`
	format
}

// operate performs an operation on the task, and prints its new state.
func (c *operatedTask) operate(ctx context.Context, o *OS, verb string, op adminapi.Operation) error {
	op.Owner = task.Owner(c.Owner)
	id, err := (&lookup{&c.hubFlags, "all"}).id(ctx, c.ID)
	if err != nil {
		return err
	}
	return (&asking[adminapi.Operated]{
		hubFlags: &c.hubFlags, request: "POST " + taskPath(id) + "/" + verb, in: &op, format: c.format,
		text: func(t *adminapi.Operated) string {
			return fmt.Sprintf("%s\t%s\t%s\n", printable(string(t.TaskID)), stateName(a2a.TaskState(t.State)), plain(string(cmp.Or(t.Assigned, t.Agent))))
		},
	}).print(ctx, o)
}

type tasksRedriveCmd struct{ operatedTask }

func (c *tasksRedriveCmd) Run(ctx context.Context, o *OS) error {
	return c.operate(ctx, o, "redrive", adminapi.Operation{})
}

type tasksFailCmd struct {
	operatedTask
	Reason string `help:"The message for its caller." placeholder:"TEXT"`
}

func (c *tasksFailCmd) Run(ctx context.Context, o *OS) error {
	return c.operate(ctx, o, "fail", adminapi.Operation{Reason: c.Reason})
}

type tasksReassignCmd struct {
	operatedTask
	Agent string `required:"" help:"The agent that gets the task." placeholder:"NAME"`
}

func (c *tasksReassignCmd) Run(ctx context.Context, o *OS) error {
	return c.operate(ctx, o, "reassign", adminapi.Operation{Agent: task.Agent(c.Agent)})
}

type pausedAgent struct {
	hubFlags
	format
	Name string `arg:"" help:"The name of the agent."`
}

func (c *pausedAgent) set(ctx context.Context, o *OS, verb string, in any) error {
	return (&asking[adminapi.Pause]{
		hubFlags: &c.hubFlags, request: "POST " + agentPath(c.Name) + "/" + verb, format: c.format, in: in,
		text: func(p *adminapi.Pause) string {
			text := "gets messages"
			if p.Paused {
				text = "is paused"
			}
			return fmt.Sprintf("%s %s\n", plain(string(p.Agent)), text)
		},
	}).print(ctx, o)
}

type agentsPauseCmd struct {
	pausedAgent
	Reason string `help:"The reason, which callers of waiting tasks see." placeholder:"TEXT"`
}

func (c *agentsPauseCmd) Run(ctx context.Context, o *OS) error {
	return c.set(ctx, o, "pause", adminapi.PauseRequest{Reason: c.Reason})
}

type agentsResumeCmd struct{ pausedAgent }

func (c *agentsResumeCmd) Run(ctx context.Context, o *OS) error {
	return c.set(ctx, o, "resume", struct{}{})
}
