package engine

import (
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// Chooser chooses among agents. It is called concurrently and must not wait.
type Chooser interface {
	// Choose returns the one of at least two agents that gets a message for a skill.
	// What is none of them means the first one. The list is the Chooser's own.
	Choose(skill string, among []task.Agent) task.Agent
}

// Gate may refuse messages that would begin a task. It is called concurrently and must
// not wait.
type Gate interface {
	// Admit returns why the message is refused, which is for the caller; or else what
	// takes its passing back, if no task comes of it.
	Admit(agent task.Agent, r *op.Send) (undo func(), err error)
}

// Pusher tells webhooks what happens to their tasks. Its methods are called
// concurrently and never wait for a webhook. They do not keep the heads that they are
// called with.
type Pusher interface {
	// Prepare checks a config that a caller wants to register and returns it as a
	// hook with its secrets sealed, with an ID, without Task and Told. The error is
	// for the caller.
	Prepare(r *task.HookRequest) (*task.Hook, error)
	// Changed is called after a hook was made durable, or, with a nil hook, after it
	// was dropped. The head is that of its task then; nil when the hook was dropped.
	Changed(ref task.HookRef, h *task.Hook, head *task.Head)
	// Moved is called after each durable change of a task, in order, with the task's
	// lock held: it must return at once.
	Moved(head *task.Head)
}

// hookRequest returns the webhook of r as a Pusher takes it.
func hookRequest(r *op.PushConfig) *task.HookRequest {
	return &task.HookRequest{ID: r.ID, URL: r.URL, Token: r.Token, Scheme: r.Scheme, Credentials: r.Credentials, Dialect: r.Dialect}
}

// Recorder writes down what comes of some tasks when they have ended. Its methods are
// called concurrently and return at once. They keep nothing that they are called with.
type Recorder interface {
	// Mark returns what to remember about a message for a task of the agent until the task
	// has ended, or nil if nothing is to be written down. It is stored together with the
	// message, in place of what an earlier message of the task has left. A task that
	// begins with one is never answered with a bare message, because that is not in the
	// log.
	Mark(c *op.Caller, r *op.Send, agent task.Agent) []byte
	// Moved is called after each durable change of a task, in order, with the task's lock
	// held. marked says whether the change has brought a mark.
	Moved(head *task.Head, marked bool)
}

// markOf returns the mark of a message; nil if there is none.
func (e *Engine) markOf(c *op.Caller, r *op.Send, agent task.Agent) []byte {
	if e.recorder == nil {
		return nil
	}
	return e.recorder.Mark(c, r, agent)
}
