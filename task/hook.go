package task

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// HookRequest is a webhook as a caller asks for it, with its secrets in the clear. Only URL
// is required.
type HookRequest struct {
	// ID is the id that the caller chose, or empty.
	ID  string
	URL string
	// Token is sent along with each notification, or empty.
	Token string
	// Scheme and Credentials authenticate the hub at the webhook; empty if it needs no
	// authentication.
	Scheme, Credentials string
	// Dialect is that of [Hook].
	Dialect uint8
}

// Hook is a push notification config of a task (specification §4.3) as a store
// keeps it: a webhook, and how far it has been told. It is a reader of the log with
// a durable position.
type Hook struct {
	// Task and ID identify the hook; ID is unique in its task.
	Task Key
	ID   string
	// URL is where the webhook is.
	URL string
	// Dialect is the wire shape of what it is told; zero is v1.0.
	Dialect uint8
	// Scheme is the authentication scheme that the caller asked for, or empty.
	Scheme string
	// Secret is the token and the credentials, sealed; nil if there are none.
	Secret    []byte
	CreatedAt Millis
	// Told is the version up to which the webhook has been told, or told no more.
	Told int64
	// Settled is set when nothing will ever be left to tell: the task has ended, and
	// Told is its last version.
	Settled bool
}

// HookRef names a hook. Refs are ordered by task, then by ID; the zero HookRef is
// before all.
type HookRef struct {
	Task Key
	ID   string
}

// Ref returns the name of h.
func (h *Hook) Ref() HookRef { return HookRef{h.Task, h.ID} }

// Hooked is a hook with the head of its task.
type Hooked struct {
	Hook
	Head Head
}

// DeadLetter is a run of versions that a webhook was not told, because it refused
// them or could not be reached for too long.
type DeadLetter struct {
	First, Last int64
	// At is when the last of them was given up.
	At Millis
	// Attempts is how often the last of them was tried.
	Attempts int
	// Reason says why, for a person.
	Reason string
}

// HookStep moves a hook forward.
type HookStep struct {
	HookRef
	// Told is the new position. A step never moves a hook back.
	Told    int64
	Settled bool
	// Lost is what was given up on the way, or nil. A dead letter with the same First
	// is replaced.
	Lost *DeadLetter
}

// Hooks keeps webhooks. Callers have found the task for its owner before. A hook can also be
// stored together with a change of its task: Change.Hook.
type Hooks interface {
	// PutHook stores h; a hook with the same ref is replaced, and its dead letters
	// are dropped. It returns ErrNotFound if the task is gone, ErrUnavailable if it
	// cannot be stored now.
	PutHook(ctx context.Context, h *Hook) error
	// Hooks returns up to limit hooks of a task with IDs above after, ordered by ID.
	Hooks(ctx context.Context, key Key, after string, limit int) ([]Hook, error)
	// DropHook deletes a hook with its dead letters. One that is not there is no
	// error.
	DropHook(ctx context.Context, ref HookRef) error
}

// HookWork is for the delivery to webhooks, for all owners.
type HookWork interface {
	// Unsettled returns up to limit hooks with refs above after that are not settled,
	// in order. Its cost does not depend on the settled ones.
	Unsettled(ctx context.Context, after HookRef, limit int) ([]Hooked, error)
	// Advance makes steps durable, all or none. A step of a hook that is gone is
	// skipped.
	Advance(ctx context.Context, steps []HookStep) error
}

// HookQuery chooses hooks for an operator. Zero fields do not filter.
type HookQuery struct {
	// Task is the id of the task; tasks of several owners may have it.
	Task a2a.TaskID
	// Dead keeps hooks that have dead letters.
	Dead bool
	// After continues behind the hook that a page ended with.
	After HookRef
	// Limit is the largest number of hooks to return; it must be positive.
	Limit int
}

// HookDesk is for operators, for all owners.
type HookDesk interface {
	// FindHooks returns hooks in order of their refs.
	FindHooks(ctx context.Context, q *HookQuery) ([]Hooked, error)
	// DeadLetters returns the dead letters of a hook, in order, at most 1,000.
	DeadLetters(ctx context.Context, ref HookRef) ([]DeadLetter, error)
	// Revive moves a hook back in front of its first dead letter and deletes its dead
	// letters, so that all from there on is told again. Without dead letters it
	// changes nothing. It returns the hook as it then is, or ErrNotFound.
	Revive(ctx context.Context, ref HookRef) (Hooked, error)
}
