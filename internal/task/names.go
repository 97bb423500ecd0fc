package task

import "github.com/parley-a2a/parley/task"

// The names that embedders use, too.
type (
	// Agent is the name of an agent in the hub.
	Agent = task.Agent
	// Owner is the opaque scope that a task belongs to.
	Owner = task.Owner
	// State is the state of a task.
	State = task.State
)

// The states of A2A v1.0 (specification §4.1.3). Unspecified is never stored.
const (
	Unspecified   = task.Unspecified
	Submitted     = task.Submitted
	Working       = task.Working
	Completed     = task.Completed
	Failed        = task.Failed
	Canceled      = task.Canceled
	InputRequired = task.InputRequired
	Rejected      = task.Rejected
	AuthRequired  = task.AuthRequired
	numStates     = AuthRequired + 1
)

// ParseState returns the state with the protocol's name s, and whether there is one.
func ParseState(s string) (State, bool) { return task.ParseState(s) }
