package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/task"
)

// LetterID identifies a letter.
type LetterID string

// Letter is a dead envelope.
type Letter struct {
	ID LetterID `json:"id"`
	// Queue is the name of its former queue, Reason the reason why it went to Dead.
	Queue  string `json:"queue"`
	Reason string `json:"reason"`
	// At is the time when it was stored, with a resolution of milliseconds.
	At time.Time `json:"at"`
	// Type, Source, Task and Owner are those of the envelope; empty if it has none.
	Type   string     `json:"type"`
	Source string     `json:"source"`
	Task   string     `json:"task,omitempty"`
	Owner  task.Owner `json:"owner,omitempty"`
	// Envelope is the complete JSON. It may be nil in a list.
	Envelope json.RawMessage `json:"envelope,omitempty"`
	// Size is the length of the envelope in bytes.
	Size int `json:"size"`
}

// LetterOf returns the letter of an envelope that has arrived at bus.Dead.
func LetterOf(e *bus.Envelope, at time.Time) (*Letter, error) {
	text, err := e.Encode()
	if err != nil {
		return nil, fmt.Errorf("letter: %w", err)
	}
	sum := sha256.Sum256([]byte(e.Queue + "\x00" + e.ID))
	return &Letter{
		ID: LetterID(hex.EncodeToString(sum[:8])), Queue: e.Queue, Reason: e.Reason, At: task.MillisOf(at).Time(),
		Type: string(e.Type), Source: e.Source, Task: e.Task, Owner: e.Owner, Envelope: text, Size: len(text),
	}, nil
}

// Clone returns a deep copy of l.
func (l *Letter) Clone() *Letter {
	c := *l
	c.Envelope = bytes.Clone(l.Envelope)
	return &c
}

// LetterQuery selects letters. Zero fields do not filter.
type LetterQuery struct {
	Queue string
	Task  string
	// After continues behind the letter with this id; if it no longer exists, the error is
	// ErrNoLetter.
	After LetterID
	// Limit is the largest number of letters; it must be positive.
	Limit int
}

// LetterBounds limit the letters in a store.
type LetterBounds struct {
	// Before is the earliest time of letters that stay; zero means any.
	Before time.Time
	// Letters and Bytes are the largest number and size of letters that stay; the newest do.
	Letters, Bytes int
}

// ErrNoLetter is returned for a letter that does not exist.
var ErrNoLetter = errors.New("no such dead letter")

// LetterArchive stores letters. Methods are called concurrently; arguments and results are not shared
// with the archive. A call whose context has ended changes nothing and returns an error.
type LetterArchive interface {
	// PutLetter stores l as the newest. It changes nothing if a letter with this id exists.
	PutLetter(ctx context.Context, l *Letter) error
	// Letters returns letters without their envelopes, the newest first.
	Letters(ctx context.Context, q *LetterQuery) ([]Letter, error)
	// Letter returns a letter with its envelope, or ErrNoLetter.
	Letter(ctx context.Context, id LetterID) (*Letter, error)
}

// LetterDropper deletes letters of an archive.
type LetterDropper interface {
	// DropLetter deletes a letter; it returns ErrNoLetter if it does not exist.
	DropLetter(ctx context.Context, id LetterID) error
	// SweepLetters deletes the letters beyond the bounds, and returns their number.
	SweepLetters(ctx context.Context, b LetterBounds) (int, error)
}

// LetterCounter is an archive that counts its letters cheaply.
type LetterCounter interface {
	// CountLetters returns the number of letters.
	CountLetters(ctx context.Context) (int, error)
}

// LetterStore is an Archive from which letters can be deleted.
type LetterStore interface {
	LetterArchive
	LetterDropper
}
