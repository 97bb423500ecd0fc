package agent

import (
	"context"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/task"
)

// Delegation is a message of an agent to another agent of its hub.
type Delegation struct {
	// Agent is the name of the other agent. If empty, Skill chooses one, or else the
	// hub's default agent is asked.
	Agent task.Agent
	// Skill is the skill that is asked for, or empty.
	Skill string
	// TaskID is the task of an earlier delegation, which waits for input and is to go on
	// with this one. If empty, a new task begins.
	TaskID a2a.TaskID
	// Message is what to say. Its ids and its role do not count.
	Message *a2a.Message
	// Key makes the delegation happen once, however often the run that makes it is
	// executed: it names it among those of the task. A delegation with a key that was
	// used joins the task of the first, whatever it says. With a TaskID it names the
	// message among those to that task, which is said once. If it is empty, each execution
	// delegates anew.
	Key string
}

// Delegated is what became of a Delegation.
type Delegated struct {
	// TaskID is the task of the other agent; empty if it has answered with a message.
	TaskID a2a.TaskID
	// State is the state of that task: it has ended or waits for input.
	State task.State
	// JSON is the task as v1.0 JSON, or the message if there is no task.
	JSON []byte
	// Text is the answer in words: the text of the artifacts, or else of the message.
	Text string
}

// Delegator is the ability of a hub to let agents ask each other. A Run may have it.
type Delegator interface {
	// Delegate sends d to another agent, and waits until its task has ended or waits for
	// input, or ctx ends.
	Delegate(ctx context.Context, d *Delegation) (*Delegated, error)
}

// ErrNoDelegation is returned where nobody can be asked: outside a hub, and in Cancel.
var ErrNoDelegation = errors.New("no other agents can be asked here")

// Delegate asks another agent of the hub, in a task of its own that belongs to the same
// caller, and waits until that has ended or waits for input. The other task is a child
// of the one that the executor runs for: it is canceled together with it. It goes on if
// ctx ends for another reason.
func Delegate(ctx context.Context, d *Delegation) (*Delegated, error) {
	if c := CallFrom(ctx); c != nil {
		if hub, ok := c.run.(Delegator); ok {
			return hub.Delegate(ctx, d)
		}
	}
	return nil, ErrNoDelegation
}
