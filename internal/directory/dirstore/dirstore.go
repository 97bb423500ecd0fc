// Package dirstore stores the data of a directory of agents: the agents that callers have
// registered, the last known cards, and small notes.
//
// The composition root of a hub owns the [Store]. [Memory] keeps everything until the process
// ends; package sqlitestore keeps it in the database of the tasks. The conformance suite for
// stores is package dirstoretest.
//
// # Guarantees
//
// PutRecord replaces the record with the same name. Records are returned unchanged, sorted by
// name. A store shares no memory with its callers.
//
// # Non-guarantees
//
// A store does not encrypt secrets: the caller seals Record.Secret. A store does not interpret
// documents.
//
// # Concurrency
//
// A Store is safe for concurrent use.
package dirstore

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/task"
)

// Store stores records. Methods are called concurrently. No argument or result is shared with
// the store. Dropping a missing record is not an error.
type Store interface {
	// Records returns all records, sorted by name.
	Records(ctx context.Context) ([]card.Record, error)
	// PutRecord stores r, replacing the record with its name.
	PutRecord(ctx context.Context, r *card.Record) error
	// DropRecord deletes the record with a name.
	DropRecord(ctx context.Context, name task.Agent) error
}

// CardStore is a Store that several hubs use at the same time.
type CardStore interface {
	// PutCard stores the card of r with its address, tag and time. If r is a registered agent and
	// another hub has changed or dropped it since, PutCard stores nothing.
	PutCard(ctx context.Context, r *card.Record) error
}

// Notes stores small values by name.
type Notes interface {
	// Note returns the note stored under a name; nil if there is none.
	Note(ctx context.Context, name string) ([]byte, error)
	// PutNote stores a note, replacing the one with its name; a nil note deletes it.
	PutNote(ctx context.Context, name string, note []byte) error
}

// ErrNoName is returned for a record or a note without a name.
var ErrNoName = errors.New("it has no name")

// Memory is an in-memory Store and Notes.
type Memory struct {
	mu      sync.Mutex // guards the fields below
	records map[task.Agent]*card.Record
	notes   map[string][]byte
}

var (
	_ Store = (*Memory)(nil)
	_ Notes = (*Memory)(nil)
)

// Records implements Store.
func (m *Memory) Records(ctx context.Context) ([]card.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []card.Record
	for _, name := range slices.Sorted(maps.Keys(m.records)) {
		all = append(all, *m.records[name].Clone())
	}
	return all, ctx.Err()
}

// PutRecord implements Store.
func (m *Memory) PutRecord(ctx context.Context, r *card.Record) error {
	if r.Name == "" {
		return ErrNoName
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := r.Clone()
	for _, at := range []*time.Time{&c.SeenAt, &c.CreatedAt, &c.UpdatedAt} {
		*at = task.MillisOf(*at).Time()
	}
	if m.records == nil {
		m.records = make(map[task.Agent]*card.Record)
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
