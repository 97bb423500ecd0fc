package deadletter

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/task"
)

// ID identifies a letter.
type ID string

// Letter is an envelope that its queue has given up.
type Letter struct {
	ID ID `json:"id"`
	// Queue is the name of the queue that it was in, Reason why it is not any more.
	Queue  string `json:"queue"`
	Reason string `json:"reason"`
	// At is when it was written down, in milliseconds.
	At time.Time `json:"at"`
	// Type, Source, Task and Owner are those of the envelope; empty if it has none.
	Type   string     `json:"type"`
	Source string     `json:"source"`
	Task   string     `json:"task,omitempty"`
	Owner  task.Owner `json:"owner,omitempty"`
	// Envelope is the whole of it. It may be nil in a list.
	Envelope json.RawMessage `json:"envelope,omitempty"`
	// Size is the length of the envelope in bytes.
	Size int `json:"size"`
}

// Of returns the letter of an envelope that has arrived at bus.Dead.
func Of(e *bus.Envelope, at time.Time) (*Letter, error) {
	text, err := e.Encode()
	if err != nil {
		return nil, fmt.Errorf("letter: %w", err)
	}
	sum := sha256.Sum256([]byte(e.Queue + "\x00" + e.ID))
	return &Letter{
		ID: ID(hex.EncodeToString(sum[:8])), Queue: e.Queue, Reason: e.Reason, At: task.MillisOf(at).Time(),
		Type: string(e.Type), Source: e.Source, Task: e.Task, Owner: e.Owner, Envelope: text, Size: len(text),
	}, nil
}

// Clone returns a copy that shares nothing with l.
func (l *Letter) Clone() *Letter {
	c := *l
	c.Envelope = bytes.Clone(l.Envelope)
	return &c
}

// Query chooses letters. Zero fields do not filter.
type Query struct {
	Queue string
	Task  string
	// After continues behind the letter with this id; one that is not there any more gives
	// ErrNoLetter.
	After ID
	// Limit is the largest number of letters; it must be positive.
	Limit int
}

// Bounds are how much a book holds.
type Bounds struct {
	// Before is the time of the oldest letters that stay; zero means any.
	Before time.Time
	// Letters and Bytes are the most that stay; the newest do.
	Letters, Bytes int
}

// ErrNoLetter is returned for a letter that is not there.
var ErrNoLetter = errors.New("no such dead letter")

// Book keeps letters. Methods are called concurrently; nothing that is passed in or out
// is shared with the book.
type Book interface {
	// PutLetter writes l down as the newest, unless its id is there: then nothing changes.
	PutLetter(ctx context.Context, l *Letter) error
	// Letters returns letters without their envelopes, the newest first.
	Letters(ctx context.Context, q *Query) ([]Letter, error)
	// Letter returns a letter with its envelope, or ErrNoLetter.
	Letter(ctx context.Context, id ID) (*Letter, error)
}

// Dropper takes letters out of a book.
type Dropper interface {
	// DropLetter forgets a letter; it returns ErrNoLetter if it is not there.
	DropLetter(ctx context.Context, id ID) error
	// SweepLetters drops what is outside of the bounds, and returns how many that was.
	SweepLetters(ctx context.Context, b Bounds) (int, error)
}

// Store is a book that letters can be taken out of.
type Store interface {
	Book
	Dropper
}
