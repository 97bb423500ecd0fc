package engine

import (
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// Chooser chooses among agents. It is called concurrently and must not wait.
type Chooser interface {
	// Choose returns one of at least two agents to receive a message for a skill. A name that
	// is not in the list means the first one. The Chooser may change the list.
	Choose(skill string, among []task.Agent) task.Agent
}

// Gate may refuse messages that would create a task. It is called concurrently and must not
// wait.
type Gate interface {
	// Admit returns an error for the caller if it refuses the message. Otherwise it returns a
	// function that undoes the admission, which the engine calls if no task is created.
	Admit(agent task.Agent, r *op.Send) (undo func(), err error)
}

// Pusher accepts webhooks. It is called concurrently and never waits for a webhook.
type Pusher interface {
	// Prepare checks a config that a caller registers. It returns the config as a hook with
	// sealed secrets and an ID, without Task and Position. The error is returned to the caller.
	Prepare(r *task.HookRequest) (*task.Hook, error)
}

// hookRequest returns the webhook that a caller registers in the form for a Pusher.
func hookRequest(c *op.Caller, r *op.PushConfig) *task.HookRequest {
	return &task.HookRequest{
		ID: r.ID, URL: r.URL, Token: r.Token, Scheme: r.Scheme, Credentials: r.Credentials, Dialect: r.Dialect,
		Credential: c.Principal.Credential(),
	}
}

// Recorder selects the tasks whose outcomes are recorded when they have ended. It is called
// concurrently and keeps none of its arguments.
type Recorder interface {
	// RecordRequest returns the data to keep for a message to the agent until the task has
	// ended, or nil if nothing is to be recorded. It is stored together with the message and
	// replaces the request of an earlier message. A task whose first message has a request is
	// never answered with a bare message, because that is not in the log.
	RecordRequest(c *op.Caller, r *op.Send, agent task.Agent) []byte
}

// recordRequest returns the record request of a message; nil if there is none.
func (e *Engine) recordRequest(c *op.Caller, r *op.Send, agent task.Agent) []byte {
	if e.cfg.Recorder == nil {
		return nil
	}
	return e.cfg.Recorder.RecordRequest(c, r, agent)
}
