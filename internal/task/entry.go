package task

import "github.com/a2aproject/a2a-go/v2/a2a"

// Kind is the kind of an entry.
type Kind uint8

const (
	// Created is the first entry: the task in its first state with the first message of the
	// caller. Body is that message.
	Created Kind = iota + 1
	// Message is a further message of the caller. Body is the message.
	Message
	// Status is a new status. Body is its message, or nil.
	Status
	// Artifact is a whole artifact or a chunk of one. Body is the artifact.
	Artifact
	// Other is an event of a kind that the protocol does not define. Body is the
	// StreamResponse. Streams show it to their readers; a Fold does not contain it.
	Other
)

// Entry is one protocol mutation of a task. Bodies are compact, valid UTF-8 v1.0 JSON objects
// on one line; unknown fields and the digits of numbers are unchanged. Entries are immutable
// once appended: their bytes are shared.
type Entry struct {
	// Version is the number of the entry in its task, from 1. Apply sets it.
	Version int64
	Kind    Kind
	// State is the new state of Created and Status entries.
	State State
	// At is the time of the entry. Apply moves it forward if the task's clock is ahead.
	At Millis
	// Epoch and Seq are the run of an event, and its number in the run. Zero for entries of a
	// caller or of the hub itself; those are never fenced.
	Epoch, Seq int64
	// Append and LastChunk belong to Artifact entries (specification §4.2.2).
	Append, LastChunk bool
	// ArtifactID is the id of the artifact in an Artifact entry.
	ArtifactID a2a.ArtifactID
	// Body is the message or the artifact.
	Body []byte
	// Meta is the metadata object of a Status or Artifact event, or nil.
	Meta []byte
	// Others are the members that the protocol does not define, for Status and Artifact
	// entries. It is an object with the objects "frame" (beside the event), "event" (in it),
	// "status" (in its status) and "task" (in the task that the event was taken from). Empty
	// ones are omitted; nil if there are no such members.
	Others []byte
	// Call holds the data that a run needs beside the message to be repeated after a crash
	// (request metadata, principal, service parameters), for Created and Message entries. It is
	// never shown to a caller.
	Call []byte
}

// Size returns the total length in bytes of e's bodies.
func (e *Entry) Size() int { return len(e.Body) + len(e.Meta) + len(e.Others) + len(e.Call) }
