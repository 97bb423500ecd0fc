// Package op is the operations of the protocol as decoded values: what a binding
// hands to the engine, whatever wire the call came over.
//
// A value of this package has passed the checks that need no knowledge of tasks:
// required fields are there, enums are known, numbers are in range, JSON is valid,
// compact UTF-8. What depends on stored tasks or registered agents is checked by
// the engine.
package op

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/internal/usertoken"
	"github.com/parley-a2a/parley/task"
)

// Caller is who calls, and what came beside the payload.
type Caller struct {
	// Principal is never nil when the engine is called.
	Principal *auth.Principal
	// Params are the service parameters (specification §3.2.6): header names in
	// lower case with their values.
	Params map[string][]string
	// Extensions are the extension URIs that the caller named, each once.
	Extensions []string
	// Bearer is the token that the caller has shown, if an agent is to get it.
	Bearer usertoken.Token
	// From is the address of the peer, "host:port"; empty if it is not known.
	From string
}

// Adopt takes the ids of a message's metadata for those that came beside the payload,
// where none came. It returns all of them.
func (c *Caller) Adopt(ids trace.IDs) trace.IDs {
	all := trace.HeaderIDs(c.Params).Or(ids)
	if ids != (trace.IDs{}) {
		c.Params = trace.StoreIDs(c.Params, all)
	}
	return all
}

// Target says which agent is meant.
type Target struct {
	// Agent is the name from the path, or empty.
	Agent task.Agent
	// Tenant is the protocol's routing string from the payload, or empty. It names
	// an agent. If both are set they must be the same.
	Tenant string
	// Aliases says that an id which no task of the caller has may be an alias of one.
	Aliases bool
}

// Message is a message of a caller.
type Message struct {
	ID        string
	ContextID string
	TaskID    a2a.TaskID
	// Skill is the skill named by the message's metadata, then the request's:
	// the keys skill, skillId, skillHint in this order. Empty if none.
	Skill string
	// MediaTypes are the media types of the parts, in order, empty where a part
	// names none.
	MediaTypes []string
	// Body is the message as canonical v1.0 JSON on one line, with role and parts
	// exact and unknown fields kept, but without taskId and contextId: the engine
	// puts those in front. It begins with '{' and has at least one member.
	Body []byte
}

// Send is SendMessage and SendStreamingMessage. The engine does not change it.
type Send struct {
	Target
	Message Message
	// Metadata is the request's metadata object, or nil.
	Metadata []byte
	// Others are the members of the request that the protocol does not have: an object with
	// the objects "params" and "configuration", of which none is empty; nil if there are no
	// such members.
	Others []byte
	// IDs are those that the request's metadata names, or else the message's.
	IDs               trace.IDs
	ReturnImmediately bool
	// HistoryLength limits the history of the answer; nil means all of it.
	HistoryLength       *int
	AcceptedOutputModes []string
	// Push is the push notification config to register with the message, or nil. Its
	// TaskID is empty or that of the message.
	Push *PushConfig
	// Key is the idempotency key that came beside the payload, or empty. It may be
	// anything.
	Key string
	// Followed says that the hub follows the message for a caller that waits for the answer,
	// so that a caller that may send may do it.
	Followed bool
	// NewIDs says that the surface lets callers choose the id of a new task.
	NewIDs bool
	// Dialect is the wire shape of the call; a new task remembers it. Zero is v1.0.
	Dialect uint8
	// Task says that the caller can read no other answer than a task.
	Task bool
	// Wrap says that a bare message of the agent becomes the answer of a task, and that
	// errors stay errors.
	Wrap bool
	// Resume continues the newest task of the message's context that waits for its
	// caller, if the message names no task. Without one it begins a task.
	Resume bool
	// Once says that a message whose task is there already is the same one again: it
	// joins the task and adds nothing. It needs NewIDs. A task that the message continues
	// instead gets the id that the message named as an alias.
	Once bool
	// Alias is a further name by which the caller will ask for the task, such as the id
	// of the message; empty for none.
	Alias string
}

// Get is GetTask.
type Get struct {
	Target
	ID            a2a.TaskID
	HistoryLength *int
}

// Cancel is CancelTask.
type Cancel struct {
	Target
	ID a2a.TaskID
	// Metadata is the request's metadata object, or nil.
	Metadata []byte
}

// Subscribe is SubscribeToTask.
type Subscribe struct {
	Target
	ID a2a.TaskID
	// LastEventID is the header of that name, or empty.
	LastEventID string
	// Said says that the call follows the message that it has sent itself, so that whoever
	// may send may do it.
	Said bool
}

// List is ListTasks.
type List struct {
	Target
	ContextID string
	// State filters; Unspecified does not.
	State task.State
	// PageSize is the number of tasks of a page, 1 to 100; the decoder fills in the
	// surface's default.
	PageSize  int
	PageToken string
	// HistoryLength limits each task's history; nil means none.
	HistoryLength    *int
	Since            task.Millis
	IncludeArtifacts bool
}
