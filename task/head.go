package task

import (
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Key is a store's own short name for a task. It is unique in the store, never
// reused, never shown to a caller. Zero means that the task is not stored yet.
type Key int64

// Owner is the opaque scope that a task belongs to. Two callers with different
// owners never learn of each other's tasks. The wire id of a task is unique
// within its owner only.
type Owner string

// Agent is the name under which the hub knows an agent.
type Agent string

// AgentNamed returns the name of an agent that people call title: small letters and
// digits, with a dash for every run of other characters between them.
func AgentNamed(title string) Agent {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(title) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(r)
			gap = false
		} else {
			gap = true
		}
	}
	return Agent(b.String())
}

// Holder names who executes a task: a hub, or a worker process.
type Holder string

// Millis is a moment in milliseconds since the Unix epoch, UTC: the precision
// that the protocol writes (specification §5.6.1). Zero means never.
type Millis int64

// MillisOf returns t cut to milliseconds, or zero if t is the zero time.
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

// Shown says who may see a task.
type Shown uint8

const (
	// ToCaller is an ordinary task.
	ToCaller Shown = iota
	// Quiet is a task whose caller has not been told of it yet, because its agent
	// may still answer with a bare message. It is recovered after a crash like any
	// other task, but it is not listed or found until it becomes ToCaller.
	Quiet
	// Answered is a task that ended as a bare message. It is never listed or found
	// and waits for the sweeper.
	Answered
)

// Dispatch says how far the open run of a task has come.
type Dispatch uint8

const (
	// Idle tasks have no run to do: they wait for a caller, or have ended.
	Idle Dispatch = iota
	// Pending tasks wait for somebody to execute them.
	Pending
	// Published tasks have been handed to a broker.
	Published
	// Claimed tasks are being executed by Run.Holder.
	Claimed
	// Asking tasks have asked a question that Run.Holder answers in the caller's place.
	Asking
)

// Run is the execution attempt that a task is in, or was in last.
type Run struct {
	// Epoch is the number of the attempt, from 1. An event of another epoch is
	// refused.
	Epoch int64
	// Seq is the number of the last event of this epoch that was applied.
	Seq int64
	// Holder executes the run, or has it in line; empty while Dispatch is Idle.
	Holder Holder
	// Dispatch says how far the run has come.
	Dispatch Dispatch
	// Attempt counts the executions of the same message, from 1. It starts again
	// with each message.
	Attempt int
	// Told is set once a caller could have seen more of this message's execution
	// than SUBMITTED and WORKING. A run that told is not repeated in silence.
	Told bool
}

// Head is the mutable row of a task: everything that admission, dispatch and
// listing need, and nothing that grows with the task. The zero Head is a task that
// does not exist yet.
type Head struct {
	Key       Key
	ID        a2a.TaskID
	ContextID string
	Owner     Owner
	Agent     Agent
	// Assigned is the agent that an operator has given the task to: it executes it in
	// the place of Agent, whose task it stays for callers. Empty means Agent.
	Assigned Agent
	// Dialect is the wire shape in which the task was made; zero is v1.0.
	Dialect uint8
	Shown   Shown

	// Rev counts all changes of the row, from 1. Append compares it.
	Rev int64
	// Version is the version of the last entry.
	Version int64

	State State
	// StatusAt is the timestamp of the current status; never earlier than the one
	// before it.
	StatusAt Millis
	// StatusMessage is the message of the current status as v1.0 JSON, or nil.
	StatusMessage []byte
	CreatedAt     Millis
	UpdatedAt     Millis

	// Asked is the version of the newest message from the caller.
	Asked int64
	// Read is the version of the newest message from the caller that was handed to
	// a run. Read < Asked means that a message waits.
	Read int64

	Run Run
	// CancelAt is when a caller asked to cancel; zero if nobody did.
	CancelAt Millis
	// Others is set once an entry has had members that the protocol does not have: the task
	// shows some of them, and a head has none of them.
	Others bool
	// Sealed are the most recent artifacts (at most MaxSealed) that had their last
	// chunk. It is empty once the task has ended.
	Sealed []a2a.ArtifactID
}

// Performer returns the agent that executes the task.
func (h *Head) Performer() Agent {
	if h.Assigned != "" {
		return h.Assigned
	}
	return h.Agent
}

// Due reports whether the task has something to do for the hub: a run that is
// pending or under way, a cancel request, or a message that no run has read.
func (h *Head) Due() bool {
	return h.State.Open() && h.Shown != Answered &&
		(h.Run.Dispatch != Idle || h.CancelAt != 0 || h.Waiting())
}

// Ended reports whether the task has come to its end, so that a Sweeper may delete it.
func (h *Head) Ended() bool { return h.State.Terminal() || h.Shown == Answered }

// The bits of Marks.
const (
	markTold = 1 << iota
	markOthers
)

// Marks returns Run.Told and Others as the bits of a byte, for stores.
func (h *Head) Marks() byte { return flagIf(h.Run.Told, markTold) | flagIf(h.Others, markOthers) }

// SetMarks sets what Marks returned.
func (h *Head) SetMarks(marks byte) {
	h.Run.Told, h.Others = marks&markTold != 0, marks&markOthers != 0
}

// Waiting reports whether a message of the caller has not been read by a run.
func (h *Head) Waiting() bool { return h.Read < h.Asked }

// Resumed reports whether the status asks for what the task has got: a message that answers
// it was accepted, and a run that waits, or has reported nothing yet, goes on with it.
// A run that waits for credentials may keep the status of a run before it, if that one was
// interrupted.
func (h *Head) Resumed() bool {
	switch {
	case h.State == InputRequired:
		return h.Run.Dispatch != Idle
	case h.State == AuthRequired && h.Run.Dispatch == Claimed:
		return !h.Run.Told && h.Run.Attempt <= 1
	case h.State == AuthRequired:
		return h.Run.Dispatch != Idle
	}
	return false
}
