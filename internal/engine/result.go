package engine

import (
	"github.com/parley-a2a/parley/task"
)

// Answer is a task as it was at one moment, or a bare message.
type Answer struct {
	// Head is the task's head. Its Version is that of Fold.
	Head task.Head
	// Fold is the whole task; nil when Message is set.
	Fold *task.Fold
	// Message is a bare message as v1.0 JSON; nil when the answer is a task.
	Message []byte
	// History limits the history to show; nil means all of it.
	History *int
	// Confirmed are the extensions that the agent has confirmed for the message that this is
	// the answer to; nil if it has not said, and in answers to other calls.
	Confirmed *Confirmation
}

// answerOf returns a task as its caller sees it. Once a message has answered what the
// status asks, the task works: a caller who saw the question again would take it for the
// next one.
func answerOf(h *task.Head, f *task.Fold, history *int) *Answer {
	a := &Answer{Head: *h, Fold: f, History: history}
	if !h.Resumed() {
		return a
	}
	a.Head.State, a.Head.StatusMessage, a.Head.StatusAt = task.Working, nil, h.UpdatedAt
	if f != nil {
		f.Retire()
	}
	return a
}

// Event is an entry together with its v1.0 frame.
type Event struct {
	task.Entry
	// Frame is the StreamResponse object as v1.0 JSON, shared by all readers; nil
	// when the entry has no frame (a message of the caller).
	Frame []byte
}

// Page is the answer of ListTasks.
type Page struct {
	// Tasks have a nil Fold unless artifacts or history were asked for.
	Tasks         []Answer
	NextPageToken string
	PageSize      int
	TotalSize     int
	// Artifacts says whether artifacts are to be shown, even when empty.
	Artifacts bool
}
