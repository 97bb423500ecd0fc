package task

import (
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// State is the state of a task. The numbers are those of the protocol's
// TaskState enum, so they can be stored and compared across versions.
type State uint8

// The states of A2A v1.0 (specification §4.1.3). Unspecified is never stored.
const (
	Unspecified State = iota
	Submitted
	Working
	Completed
	Failed
	Canceled
	InputRequired
	Rejected
	AuthRequired
	numStates
)

var stateNames = [numStates]a2a.TaskState{
	Unspecified:   "TASK_STATE_UNSPECIFIED",
	Submitted:     a2a.TaskStateSubmitted,
	Working:       a2a.TaskStateWorking,
	Completed:     a2a.TaskStateCompleted,
	Failed:        a2a.TaskStateFailed,
	Canceled:      a2a.TaskStateCanceled,
	InputRequired: a2a.TaskStateInputRequired,
	Rejected:      a2a.TaskStateRejected,
	AuthRequired:  a2a.TaskStateAuthRequired,
}

// ParseState returns the state with the protocol's name s, such as
// "TASK_STATE_WORKING", and whether there is one. Unspecified does not count.
func ParseState(s string) (State, bool) {
	for i := Submitted; i < numStates; i++ {
		if string(stateNames[i]) == s {
			return i, true
		}
	}
	return Unspecified, false
}

// String returns the protocol's name, such as "TASK_STATE_WORKING".
func (s State) String() string {
	if s >= numStates {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return string(stateNames[s])
}

// Word returns a readable name, such as "input-required".
func (s State) Word() string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")), "_", "-")
}

// A2A returns s as the SDK's type.
func (s State) A2A() a2a.TaskState {
	if s == Unspecified || s >= numStates {
		return a2a.TaskStateUnspecified
	}
	return stateNames[s]
}

// Valid reports whether s is a state that a task can have.
func (s State) Valid() bool { return s > Unspecified && s < numStates }

// Terminal reports whether s is final: no state can follow it.
func (s State) Terminal() bool {
	return s == Completed || s == Failed || s == Canceled || s == Rejected
}

// Interrupted reports whether s waits for the caller.
func (s State) Interrupted() bool { return s == InputRequired || s == AuthRequired }

// Open reports whether s can still change.
func (s State) Open() bool { return s.Valid() && !s.Terminal() }
