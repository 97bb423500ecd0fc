package task

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Key is the store's internal number of a task. It is unique in the store, never reused, and
// never shown to a caller. Zero means that the task is not stored yet.
type Key int64

// Holder names the executor of a task: a hub or a worker process.
type Holder string

// Millis is a time in milliseconds since the Unix epoch, UTC: the precision that the protocol
// writes (specification §5.6.1). Zero means never.
type Millis int64

// MillisOf returns t truncated to milliseconds, or zero if t is the zero time.
func MillisOf(t time.Time) Millis {
	if t.IsZero() {
		return 0
	}
	return Millis(t.UnixMilli())
}

// Time returns m as a UTC time, or the zero time if m is zero.
func (m Millis) Time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m)).UTC()
}

// Visibility distinguishes the tasks that callers see.
type Visibility uint8

const (
	// Visible is an ordinary task.
	Visible Visibility = iota
	// Hidden is a task that was not shown to its caller yet, because its agent may still answer
	// with a bare message. It is recovered after a crash like any other task, but it is not
	// listed or found until it becomes Visible.
	Hidden
	// Replied is a task that ended as a bare message. It is never listed or found, and the
	// Sweeper deletes it.
	Replied
)

// Dispatch is the progress of a task's open run.
type Dispatch uint8

const (
	// Idle tasks have no run: they wait for a caller, or have ended.
	Idle Dispatch = iota
	// Pending tasks wait for an executor.
	Pending
	// Published tasks have been handed to a broker.
	Published
	// Claimed tasks are being executed by Run.Holder.
	Claimed
	// Asking tasks have asked a question that Run.Holder answers in the caller's place.
	Asking
)

// Run is the current or last execution attempt of a task.
type Run struct {
	// Epoch is the number of the attempt, from 1. Events of other epochs are refused.
	Epoch int64
	// Seq is the number of the last applied event of this epoch.
	Seq int64
	// Holder executes the run, or has it queued; empty while Dispatch is Idle.
	Holder Holder
	// Dispatch is the progress of the run.
	Dispatch Dispatch
	// Attempt counts the executions of the same message, from 1. It starts again with each
	// message.
	Attempt int
	// Position is set once a caller could have seen more of this message's execution than SUBMITTED
	// and WORKING. Such a run is not repeated silently.
	Disclosed bool
}

// Head is the mutable row of a task: all data that admission, dispatch and listing need, and
// none that grows with the task. The zero Head is a task that does not exist yet.
type Head struct {
	Key       Key
	ID        a2a.TaskID
	ContextID string
	Owner     Owner
	Agent     Agent
	// Assigned is the agent that an operator has assigned to the task: it executes the task in
	// place of Agent. For callers the task remains Agent's. Empty means Agent.
	Assigned Agent
	// Dialect is the wire dialect in which the task was created; zero is v1.0.
	Dialect    uint8
	Visibility Visibility

	// Rev counts all changes of the row, from 1. Append compares it.
	Rev int64
	// Version is the version of the last entry.
	Version int64

	State State
	// StatusAt is the time of the current status; never earlier than that of the previous one.
	StatusAt Millis
	// StatusMessage is the message of the current status as v1.0 JSON, or nil.
	StatusMessage []byte
	CreatedAt     Millis
	UpdatedAt     Millis

	// LastMessage is the version of the newest message from the caller.
	LastMessage int64
	// Consumed is the version of the newest message from the caller that a run has received.
	// Consumed < LastMessage means that a message waits.
	Consumed int64

	Run Run
	// CancelAt is the time of a cancel request; zero if there is none.
	CancelAt Millis
	// Others is set once an entry has had members that the protocol does not define: the task
	// shows some of them, but a head contains none.
	Others bool
	// Sealed are the most recent artifacts (at most MaxSealed) that had their last chunk. It is
	// empty once the task has ended.
	Sealed []a2a.ArtifactID
}

// Performer returns the agent that executes the task.
func (h *Head) Performer() Agent {
	if h.Assigned != "" {
		return h.Assigned
	}
	return h.Agent
}

// Due reports whether the hub has work to do for the task: a run that is pending or in
// progress, a cancel request, or a message that no run has read.
func (h *Head) Due() bool {
	return h.State.Open() && h.Visibility != Replied &&
		(h.Run.Dispatch != Idle || h.CancelAt != 0 || h.Waiting())
}

// Ended reports whether the task has ended, so that a Sweeper may delete it.
func (h *Head) Ended() bool { return h.State.Terminal() || h.Visibility == Replied }

// The bits of Flags.
const (
	flagDisclosed = 1 << iota
	flagOthers
)

// Flags returns Run.Disclosed and Others as the bits of a byte, for stores.
func (h *Head) Flags() byte {
	return flagIf(h.Run.Disclosed, flagDisclosed) | flagIf(h.Others, flagOthers)
}

// SetFlags sets the fields that Flags encodes.
func (h *Head) SetFlags(flags byte) {
	h.Run.Disclosed, h.Others = flags&flagDisclosed != 0, flags&flagOthers != 0
}

// Waiting reports whether no run has read the newest message of the caller.
func (h *Head) Waiting() bool { return h.Consumed < h.LastMessage }

// Resumed reports whether a message that answers the interrupted status was accepted, and the
// run that continues with it has reported nothing yet: it is about to start, waits, or has begun.
// A run that waits for credentials continues until it learns of the message, which is the last entry
// then. Such a run, or a task that waits for one, may keep the status of an earlier run that a crash
// interrupted.
func (h *Head) Resumed() bool {
	switch {
	case !h.State.Interrupted():
		return false
	case h.Run.Dispatch == Idle: // the run before has ended, and the next is about to start
		return h.Waiting()
	case h.State == InputRequired:
		return true
	}
	return h.Run.Attempt == 0 || !h.Run.Disclosed && h.Run.Attempt == 1 ||
		h.Waiting() && h.Version == h.LastMessage
}
