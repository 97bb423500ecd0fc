package agent

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/task"
)

// Delegation is a message of an agent to another agent of its hub.
type Delegation struct {
	// Agent is the name of the other agent. If empty, Skill chooses one, or else the
	// hub's default agent is asked.
	Agent task.Agent
	// Skill is the id of the requested skill, or empty.
	Skill string
	// TaskID is the task of an earlier delegation, which waits for input and continues with
	// this one. If empty, a new task begins.
	TaskID a2a.TaskID
	// Message is the message to send. Its ids and its role are ignored.
	Message *a2a.Message
	// Key makes the delegation happen once, even if its run is executed several times. It must
	// be unique within the task. A delegation whose key was used joins the task of the first
	// one, whatever its message. With a TaskID, Key identifies the message among those to that
	// task, and the message is sent once. If Key is empty, each execution delegates anew.
	Key string
}

// Delegated is the result of a Delegation.
type Delegated struct {
	// TaskID is the task of the other agent; empty if it has answered with a message.
	TaskID a2a.TaskID
	// State is the state of that task: it has ended or waits for input.
	State task.State
	// JSON is the task as v1.0 JSON, or the message if the agent has answered with a message.
	JSON []byte
	// Text is the text of the answer: that of the artifacts, or of the message if they have
	// none.
	Text string
}

// ErrNoDelegation is returned where an executor cannot ask other agents: outside a hub, and in
// Cancel.
var ErrNoDelegation = errors.New("no other agents can be asked here")

// Delegate asks another agent of the hub, and waits until its task has ended or waits for
// input. The new task belongs to the same caller. It is a child of the executor's task: the hub
// cancels it together with its parent. The new task continues if ctx ends for another reason.
func (c *Call) Delegate(ctx context.Context, d *Delegation) (*Delegated, error) {
	if c.outside() {
		return nil, ErrNoDelegation
	}
	return c.run.Delegate(ctx, d)
}

// DelegationContext is the chain of agents through which a piece of work has passed, and the
// limits of further delegation. The zero DelegationContext allows none.
type DelegationContext struct {
	// Chain names the agents that have passed the work on, first one first, as agent@hub. It is
	// empty for the work of a caller that is not an agent.
	Chain []string
	// Hops is the number of further agents in a row that may be asked.
	Hops int
	// Budget is the total number of further tasks that may be begun.
	Budget int
	// Deadline is the time by which the work must end; zero means no deadline.
	Deadline time.Time
}

// OutgoingDelegation returns the delegation context that an executor sends with a message to an
// agent elsewhere. It prevents work from circling or continuing without end. Delegate sends it
// by itself. If OutgoingDelegation returns an error, the executor must not ask another agent.
// Outside a hub the context is nil.
func (c *Call) OutgoingDelegation(ctx context.Context) (*DelegationContext, error) {
	if c.outside() {
		return nil, nil
	}
	return c.run.OutgoingDelegation(ctx)
}
