// Package dirstore is what a directory of agents keeps when the hub stops: the agents that
// callers have registered, the cards that were seen last, and small notes.
//
// A [Store] is owned by whoever composes a hub. [Memory] keeps everything until the
// process ends; package sqlitestore keeps it in the file with the tasks. Suite ledgertest
// says what every store has to do.
//
// # Guarantees
//
// A record that was put is there as it was put, and replaces the one with its name.
// Records come back in the order of their names. A store keeps nothing of what it is
// given and gives nothing away that it keeps.
//
// # What it does not promise
//
// A store does not seal secrets: Record.Secret is sealed by whoever makes it. It does not
// look into documents.
//
// # Concurrency
//
// A Store is safe for concurrent use.
//
// # Testing
//
// The zero Memory is ready to use.
package dirstore

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/task"
)

// Record is what is kept of one agent.
type Record struct {
	// Name is the agent's name in the hub. It is required.
	Name task.Agent
	// Spec is what was registered, as JSON without secrets; nil for an agent that stands
	// in a file, of which only the card is kept.
	Spec []byte
	// Secret is the agent's credentials, sealed; nil if there are none.
	Secret []byte
	// Card is the card that was seen last, as it came; nil if none was. CardURL is the
	// configured URL that it belongs to, and ETag its tag, or empty.
	Card    []byte
	CardURL string
	ETag    string
	// SeenAt is when the agent last answered, CreatedAt and UpdatedAt when it was
	// registered, and when that changed. They have milliseconds; zero means never.
	SeenAt, CreatedAt, UpdatedAt time.Time
}

// Clone returns a copy that shares nothing with r.
func (r *Record) Clone() *Record {
	c := *r
	c.Spec, c.Secret, c.Card = bytes.Clone(r.Spec), bytes.Clone(r.Secret), bytes.Clone(r.Card)
	return &c
}

// Store keeps records. Methods are called concurrently; nothing that is passed in or out
// is shared with the store. To drop what is not there is no error.
type Store interface {
	// Records returns all records in the order of their names.
	Records(ctx context.Context) ([]Record, error)
	// PutRecord stores r in place of the record with its name.
	PutRecord(ctx context.Context, r *Record) error
	// DropRecord forgets the record with a name.
	DropRecord(ctx context.Context, name task.Agent) error
}

// Notes keep small things by their names.
type Notes interface {
	// Note returns what was put last under a name; nil if nothing was.
	Note(ctx context.Context, name string) ([]byte, error)
	// PutNote stores a note in place of the one with its name; a nil one drops it.
	PutNote(ctx context.Context, name string, note []byte) error
}

// ErrNoName is returned for a record or a note without a name.
var ErrNoName = errors.New("it has no name")

// Memory is a Store, and Notes, that end with the process.
type Memory struct {
	mu      sync.Mutex // guards the fields below
	records map[task.Agent]*Record
	notes   map[string][]byte
}

var (
	_ Store = (*Memory)(nil)
	_ Notes = (*Memory)(nil)
)

// Records implements Store.
func (m *Memory) Records(ctx context.Context) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Record
	for _, name := range slices.Sorted(maps.Keys(m.records)) {
		all = append(all, *m.records[name].Clone())
	}
	return all, ctx.Err()
}

// PutRecord implements Store.
func (m *Memory) PutRecord(ctx context.Context, r *Record) error {
	if r.Name == "" {
		return ErrNoName
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records == nil {
		m.records = make(map[task.Agent]*Record)
	}
	c := r.Clone()
	for _, at := range []*time.Time{&c.SeenAt, &c.CreatedAt, &c.UpdatedAt} {
		*at = task.MillisOf(*at).Time()
	}
	m.records[r.Name] = c
	return ctx.Err()
}

// DropRecord implements Store.
func (m *Memory) DropRecord(ctx context.Context, name task.Agent) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.records, name)
	return ctx.Err()
}

// Note implements Notes.
func (m *Memory) Note(ctx context.Context, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return bytes.Clone(m.notes[name]), ctx.Err()
}

// PutNote implements Notes.
func (m *Memory) PutNote(ctx context.Context, name string, note []byte) error {
	if name == "" {
		return ErrNoName
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.notes == nil {
		m.notes = make(map[string][]byte)
	}
	m.notes[name] = bytes.Clone(note)
	if note == nil {
		delete(m.notes, name)
	}
	return ctx.Err()
}
