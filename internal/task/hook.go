package task

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// HookRequest is a webhook as requested by a caller, with its secrets in the clear. Only URL is
// required.
type HookRequest struct {
	// ID is the id that the caller chose, or empty.
	ID  string
	URL string
	// Token is sent along with each notification; empty if there is none.
	Token string
	// Scheme and Credentials authenticate the hub at the webhook; empty if it needs no
	// authentication.
	Scheme, Credentials string
	// Dialect is the dialect of the notifications, see [Hook].
	Dialect uint8
	// Credential names the API key or certificate with which the caller has registered it; empty for
	// callers without one.
	Credential string
}

// Hook is the stored form of a push notification config of a task (specification §4.3): a
// webhook, and its position. It is a reader of the log with a durable position.
type Hook struct {
	// Task and ID identify the hook; ID is unique in its task.
	Task Key
	ID   string
	// URL is the address of the webhook.
	URL string
	// Dialect is the wire dialect of its notifications; zero is v1.0.
	Dialect uint8
	// Scheme is the authentication scheme that the caller asked for, or empty.
	Scheme string
	// Secret is the token and the credentials, sealed; nil if there are none.
	Secret    []byte
	CreatedAt Millis
	// Position is the last version that was delivered, or is not delivered any more.
	Position int64
	// Settled is set if no delivery is left: the task has ended, and Position is its last version.
	Settled bool
}

// HookRef identifies a hook. Refs are ordered by task, then by ID; the zero HookRef comes
// first.
type HookRef struct {
	Task Key
	ID   string
}

// Ref returns the reference of h.
func (h *Hook) Ref() HookRef { return HookRef{h.Task, h.ID} }

// Hooked is a hook with the head of its task.
type Hooked struct {
	Hook
	Head Head
}

// DeadLetter is a range of versions that were not delivered to a webhook, because it refused
// them or could not be reached for too long.
type DeadLetter struct {
	First, Last int64
	// At is the time when the hub stopped trying to deliver the last of them.
	At Millis
	// Attempts is the number of attempts to deliver the last of them.
	Attempts int
	// Reason is the reason in words, for the operator.
	Reason string
}

// HookStep advances a hook.
type HookStep struct {
	HookRef
	// Position is the new position. A step never moves a hook back.
	Position int64
	Settled  bool
	// Lost is the range that was not delivered, or nil. A dead letter with the same First is
	// replaced.
	Lost *DeadLetter
}

// Hooks keeps webhooks. Callers must have found the task for its owner before. A hook can also
// be stored together with a change of its task: Change.Hook.
type Hooks interface {
	// PutHook stores h. It replaces a hook with the same ref, and deletes that hook's dead
	// letters. It returns ErrNotFound if the task does not exist, ErrUnavailable if h cannot be
	// stored now.
	PutHook(ctx context.Context, h *Hook) error
	// Hooks returns up to limit hooks of a task with IDs above after, ordered by ID.
	Hooks(ctx context.Context, key Key, after string, limit int) ([]Hook, error)
	// DropHook deletes a hook with its dead letters. It is no error if the hook does not exist.
	DropHook(ctx context.Context, ref HookRef) error
}

// HookWork is used by the delivery to webhooks, for all owners.
type HookWork interface {
	// Unsettled returns up to limit hooks with refs above after that are not settled, in order.
	// Its cost does not depend on the settled ones.
	Unsettled(ctx context.Context, after HookRef, limit int) ([]Hooked, error)
	// Advance makes steps durable, all or none. A step of a deleted hook is skipped.
	Advance(ctx context.Context, steps []HookStep) error
}

// HookQuery selects hooks for an operator. Zero fields do not filter.
type HookQuery struct {
	// Task is the id of the task; tasks of several owners may have it.
	Task a2a.TaskID
	// Dead keeps hooks that have dead letters.
	Dead bool
	// After continues after the last hook of a page.
	After HookRef
	// Limit is the largest number of hooks to return; it must be positive.
	Limit int
}

// HookAdmin is used by operators, for all owners.
type HookAdmin interface {
	// FindHooks returns hooks in order of their refs.
	FindHooks(ctx context.Context, q *HookQuery) ([]Hooked, error)
	// DeadLetters returns the dead letters of a hook, in order, at most 1,000.
	DeadLetters(ctx context.Context, ref HookRef) ([]DeadLetter, error)
	// Revive moves a hook back to the position before its first dead letter and deletes its
	// dead letters, so that all later versions are delivered again. Without dead letters it
	// changes nothing. It returns the resulting hook, or ErrNotFound.
	Revive(ctx context.Context, ref HookRef) (Hooked, error)
}
