package engine

import (
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

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
