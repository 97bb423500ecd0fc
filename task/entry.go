package task

import "github.com/a2aproject/a2a-go/v2/a2a"

// Kind says what an entry changes.
type Kind uint8

const (
	// Created is the first entry: the task in its first state with the first
	// message of the caller. Body is that message.
	Created Kind = iota + 1
	// Message is a further message of the caller. Body is the message.
	Message
	// Status is a new status. Body is its message, or nil.
	Status
	// Artifact is a whole artifact or a chunk of one. Body is the artifact.
	Artifact
	// Other is an event of a kind that the protocol does not have. Body is the
	// StreamResponse; readers of streams are shown it, and a Fold does not have it.
	Other
)

// Entry is one protocol mutation of a task. Bodies are compact, valid UTF-8 v1.0
// JSON objects on one line; unknown fields and the digits of numbers are kept as
// they came. Entries are immutable once appended: their bytes are shared.
type Entry struct {
	// Version numbers the entry in its task, from 1. Apply sets it.
	Version int64
	Kind    Kind
	// State is the new state of Created and Status entries.
	State State
	// At is the moment of the entry. Apply moves it forward where the task's clock
	// is ahead.
	At Millis
	// Epoch and Seq place an event in its run. Zero for entries that come from a
	// caller or from the hub itself; those are never fenced.
	Epoch, Seq int64
	// Append and LastChunk belong to Artifact entries (specification §4.2.2).
	Append, LastChunk bool
	// ArtifactID is the artifact of an Artifact entry.
	ArtifactID a2a.ArtifactID
	// Body is the message or the artifact.
	Body []byte
	// Meta is the metadata object of a Status or Artifact event, or nil.
	Meta []byte
	// Others are the members that the protocol does not have, for Status and Artifact
	// entries: an object with the objects "frame" (beside the event), "event" (in it),
	// "status" (in its status) and "task" (in the task that the event was taken from), of
	// which none is empty; nil if there are no such members.
	Others []byte
	// Call is what a run needs beside the message to be repeated after a crash
	// (request metadata, principal, service parameters), for Created and Message
	// entries. It is never shown to a caller.
	Call []byte
}

// Size returns how many bytes the free parts of e have.
func (e *Entry) Size() int { return len(e.Body) + len(e.Meta) + len(e.Others) + len(e.Call) }
