package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/adminjson"
)

type tasksRetryCmd struct {
	oneTask
	All    bool `help:"A task of any owner, for administrators; the new task is yours."`
	Stream bool `help:"Print the reply as it arrives."`
	Detach bool `help:"Do not wait: print the id of the new task."`
}

// Run sends the message that began a task again, as a new task.
func (c *tasksRetryCmd) Run(ctx context.Context, o *OS) error {
	if c.Detach && c.Stream {
		return usagef("--detach cannot be combined with --stream")
	}
	return o.interruptible(ctx, func(in interrupts) error {
		if err := c.resolve(in.soft, &c.ID); err != nil {
			return err
		}
		var m *a2a.Message
		from := c.target
		from.Agent = "" // the task may be of another agent
		err := from.call(in.soft, func(cl *client.Client) (err error) {
			m, err = c.message(in.soft, cl, o)
			return err
		})
		if err != nil {
			return err
		}
		send := &sendCmd{target: c.target, output: c.output, Stream: c.Stream}
		return c.call(in.soft, func(cl *client.Client) error {
			if c.Detach {
				return send.detach(in.soft, cl, m, o)
			}
			return send.converse(in, cl, m, o)
		})
	})
}

// message returns the message that began the task, and selects the agent that the task was for.
func (c *tasksRetryCmd) message(ctx context.Context, cl *client.Client, o *OS) (*a2a.Message, error) {
	hub := c.hub()
	t, err := cl.Get(ctx, &a2a.GetTaskRequest{ID: a2a.TaskID(c.ID)})
	if err != nil && c.onHub(cl) {
		var other *adminjson.TaskInfo
		if other, err = hub.ofOthers(ctx, c.ID, err); err == nil && !c.All {
			return nil, fmt.Errorf("task %s belongs to another caller, %s; --all sends its message as a task of yours", other.TaskID, other.Owner)
		}
		if err == nil {
			t, err = loose(other)
			c.Agent = cmp.Or(c.Agent, other.Agent)
		}
	}
	if err != nil {
		return nil, err
	}
	if c.Agent == "" && c.onHub(cl) {
		c.Agent = hub.taskInfo(ctx, t.ID).Agent
	}
	var sent []*a2a.Message
	for _, m := range t.History {
		if m.Role == a2a.MessageRoleUser {
			sent = append(sent, m)
		}
	}
	if len(sent) == 0 {
		return nil, fmt.Errorf("task %s: the server does not keep its message", t.ID)
	}
	if n := len(sent) - 1; n > 0 && !o.Quiet {
		fmt.Fprintf(o.Stderr, "only the first message of the task is sent, not the %s after it\n", counted(n, "message"))
	}
	m := a2a.NewMessage(a2a.MessageRoleUser, sent[0].Parts...)
	m.ContextID, m.Metadata, m.Extensions, m.ReferenceTasks = t.ContextID, sent[0].Metadata, sent[0].Extensions, sent[0].ReferenceTasks
	return m, nil
}

// loose returns a task of another owner without its context and its references to other tasks.
func loose(info *adminjson.TaskInfo) (*a2a.Task, error) {
	t, err := a2aTask(info)
	if err != nil {
		return nil, err
	}
	t.ContextID = ""
	for _, m := range t.History {
		m.ReferenceTasks = nil
	}
	return t, nil
}
