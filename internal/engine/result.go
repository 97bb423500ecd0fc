package engine

import (
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// Answer is the state of a task at one moment, or a bare message.
type Answer struct {
	op.Answer
	// Size is the approximate size of Fold in bytes, if it is large; otherwise zero.
	Size int
	// hold is the memory of an answer above membudget.Small; nil for others.
	hold *membudget.Hold
	// Confirmed are the extensions that the agent has confirmed for the answered message; nil
	// if it has confirmed none, and in answers to other calls.
	Confirmed *Confirmation
}

// sized notes the size of a large fold.
func (a *Answer) sized(f folded) *Answer {
	a.hold = f.hold
	if f.size > largeLog {
		a.Size = f.Fold.Size()
	}
	return a
}

// Release releases the memory that a large answer has acquired from the budget, once it was
// sent. Otherwise it is released at the end of the context of the call.
func (a *Answer) Release() { a.hold.Release() }

// answerOf returns a task in its caller's view. Once a message has answered the status, the
// task counts as working: a caller that saw the question again would take it for a new one.
func answerOf(h *task.Head, f *task.Fold, history *int) *Answer {
	a := new(Answer)
	setAnswer(&a.Answer, h, f, history)
	return a
}

// setAnswer is like answerOf, in place: a page of tasks needs no allocation for each.
func setAnswer(a *op.Answer, h *task.Head, f *task.Fold, history *int) {
	a.Head, a.Fold, a.History = *h, f, history
	if !h.Resumed() {
		return
	}
	a.Head.State, a.Head.StatusMessage, a.Head.StatusAt = task.Working, nil, h.UpdatedAt
	if f != nil {
		f.Retire()
	}
}

// Event is an entry together with its v1.0 frame.
type Event struct {
	task.Entry
	// Frame is the StreamResponse object as v1.0 JSON, shared by all readers; nil if the entry
	// has no frame (a message of the caller).
	Frame []byte
}
