// Package op defines the operations of the protocol as decoded values. A binding decodes a call
// into one of them and passes it to the engine, whatever wire format the call had.
//
// A value of this package has passed all checks that need no knowledge of tasks: required
// fields are present, enums are known, numbers are in range, and JSON is valid, compact UTF-8.
// The engine checks everything that depends on stored tasks or registered agents.
package op

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/internal/usertoken"
)

// Caller is the caller of an operation, with the request data outside of the payload.
type Caller struct {
	// Principal is never nil when the engine is called.
	Principal *auth.Principal
	// Params are the service parameters (specification §3.2.6): header names in
	// lower case with their values.
	Params map[string][]string
	// Extensions are the extension URIs that the caller named, each once.
	Extensions []string
	// Bearer is the caller's token, if it is to be forwarded to an agent.
	Bearer usertoken.Token
	// From is the address of the peer, "host:port"; empty if unknown.
	From string
	// Admitted is called once the message of the call is stored, and its memory can be released;
	// nil for small messages.
	Admitted func()
}

// Adopt copies the trace ids of a message's metadata for ids that the request did not carry
// elsewhere. It returns all of them.
func (c *Caller) Adopt(ids trace.IDs) trace.IDs {
	all := trace.HeaderIDs(c.Params).Or(ids)
	if ids != (trace.IDs{}) {
		c.Params = trace.StoreIDs(c.Params, all)
	}
	return all
}

// Target names the agent of an operation.
type Target struct {
	// Agent is the name from the path, or empty.
	Agent task.Agent
	// Tenant is the protocol's routing string from the payload, or empty. It names
	// an agent. If both are set they must be the same.
	Tenant string
	// Aliases is set if an id that none of the caller's tasks has may be an alias of one.
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
	// Body is the message as canonical v1.0 JSON on one line. Role and parts are exact, and
	// unknown fields are kept. taskId and contextId are left out: the engine inserts them at
	// the front. Body begins with '{' and has at least one member.
	Body []byte
}

// Send is SendMessage and SendStreamingMessage. The engine does not change it.
type Send struct {
	Target
	Message Message
	// Metadata is the request's metadata object, or nil.
	Metadata []byte
	// Others are the members of the request that the protocol does not define: an object with
	// the objects "params" and "configuration", without empty ones. It is nil if there are no
	// such members.
	Others []byte
	// IDs are the trace ids in the request's metadata, or else in the message's.
	IDs               trace.IDs
	ReturnImmediately bool
	// HistoryLength limits the history of the answer; nil means all of it.
	HistoryLength       *int
	AcceptedOutputModes []string
	// Push is the push notification config to register with the message, or nil. Its
	// TaskID is empty or that of the message.
	Push *PushConfig
	// Key is the idempotency key from outside the payload, or empty. Its content is arbitrary.
	Key string
	// Followed is set if the hub follows the message for a caller that waits for the answer.
	// The permission to send then suffices.
	Followed bool
	// NewIDs is set if the surface lets callers choose the id of a new task.
	NewIDs bool
	// Dialect is the wire shape of the call, which a new task stores. Zero is v1.0.
	Dialect uint8
	// Task is set if the caller can read no other answer than a task.
	Task bool
	// Wrap turns a bare message of the agent into the answer of a task. Errors stay errors.
	Wrap bool
	// Resume continues the newest task of the message's context that waits for its caller, if
	// the message names no task. If no task waits, the message begins one.
	Resume bool
	// Observe is set if a message for a skill that no agent has is not an error: the hub's owner
	// is notified of it.
	Observe bool
	// Once treats a message whose task exists already as a repetition: it joins the task and
	// adds nothing. It requires NewIDs. If the message continues another task instead, the id
	// that it named becomes an alias of that task.
	Once bool
	// Alias is a further id under which the caller will request the task, such as the id of the
	// message; empty means none.
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
	// Sent is set if the caller follows a message that it has sent itself. The permission to
	// send then suffices.
	Sent bool
}

// List is ListTasks.
type List struct {
	Target
	ContextID string
	// State is the state to filter by; Unspecified does not filter.
	State task.State
	// PageSize is the number of tasks of a page, 1 to 100; the decoder sets the surface's
	// default.
	PageSize  int
	PageToken string
	// HistoryLength limits each task's history; nil means none.
	HistoryLength    *int
	Since            task.Millis
	IncludeArtifacts bool
	// Until selects tasks whose status timestamp is earlier; zero does not filter.
	Until task.Millis
	// IDPrefix selects tasks whose id begins with it. ContextID, Since and Until must be empty
	// then.
	IDPrefix string
	// Text selects tasks with all its words. Such a list is ordered by the time of creation, newest first.
	// IDPrefix must be empty then.
	Text string
	// Owner is the owner in a list of the tasks of all owners; empty means all.
	Owner task.Owner
}
