package tables

import (
	"bytes"
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/task"
)

// AgentStore is the storage of the agent directory. See [NewAgentStore].
type AgentStore struct{ db DB }

// SharedAgentStore is the storage of the agent directories of several hubs.
type SharedAgentStore struct{ AgentStore }

var (
	_ dirstore.Store     = AgentStore{}
	_ dirstore.Notes     = AgentStore{}
	_ dirstore.CardStore = SharedAgentStore{}
)

// NewAgentStore returns the storage of the agent directory in db.
func NewAgentStore(db DB) AgentStore { return AgentStore{db} }

const (
	recordColumns = "name, spec, secret, card, card_url, etag, seen_at, created_at, updated_at"
	putRecord     = "INSERT INTO agents (" + recordColumns + `)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (name) DO UPDATE SET
	spec = excluded.spec, secret = excluded.secret, card = excluded.card, card_url = excluded.card_url,
	etag = excluded.etag, seen_at = excluded.seen_at, created_at = excluded.created_at, updated_at = excluded.updated_at`
)

// recordFields returns the fields for recordColumns.
func recordFields(r *card.Record) []any {
	return []any{&r.Name, &r.Spec, &r.Secret, &r.Card, &r.CardURL, &r.ETag, &r.SeenAt, &r.CreatedAt, &r.UpdatedAt}
}

var (
	qRecords = prepared("SELECT " + recordColumns + " FROM agents ORDER BY name")
	// A record without a registration concerns one hub: each hub reads the cards of the others itself.
	qPutOwn     = prepared(putRecord)
	qPutRecord  = changing(cluster.TopicAgents, putRecord)
	qPutCard    = prepared("UPDATE agents SET card = $3, card_url = $4, etag = $5, seen_at = $6 WHERE name = $1 AND updated_at = $2")
	qDropRecord = changing(cluster.TopicAgents, "DELETE FROM agents WHERE name = $1")

	qNote     = prepared("SELECT note FROM notes WHERE name = $1")
	qPutNote  = prepared("INSERT INTO notes (name, note) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET note = excluded.note")
	qDropNote = prepared("DELETE FROM notes WHERE name = $1")
)

// Records implements dirstore.Store.
func (l AgentStore) Records(ctx context.Context) ([]card.Record, error) {
	all, err := list(ctx, l.db, fields(recordFields), qRecords)
	if err != nil {
		return nil, fmt.Errorf("records of agents: %w", err)
	}
	return all, nil
}

// PutRecord implements dirstore.Store.
func (l AgentStore) PutRecord(ctx context.Context, r *card.Record) error {
	if r.Name == "" {
		return fmt.Errorf("put record: %w", dirstore.ErrNoName)
	}
	q := qPutRecord
	if r.Spec == nil {
		q = qPutOwn
	}
	// The writer may run after the caller has returned.
	if err := exec(ctx, l.db, q, recordFields(r.Clone())...); err != nil {
		return fmt.Errorf("put record of agent %s: %w", r.Name, err)
	}
	return nil
}

// PutCard implements dirstore.CardStore.
func (l SharedAgentStore) PutCard(ctx context.Context, r *card.Record) error {
	if r.Spec == nil {
		return l.PutRecord(ctx, r)
	}
	row := r.Clone()
	if err := exec(ctx, l.db, qPutCard, row.Name, row.UpdatedAt, row.Card, row.CardURL, row.ETag, row.SeenAt); err != nil {
		return fmt.Errorf("put card of agent %s: %w", r.Name, err)
	}
	return nil
}

// DropRecord implements dirstore.Store.
func (l AgentStore) DropRecord(ctx context.Context, name task.Agent) error {
	if err := exec(ctx, l.db, qDropRecord, name); err != nil {
		return fmt.Errorf("drop record of agent %s: %w", name, err)
	}
	return nil
}

var scanNote = fields(func(note *[]byte) []any { return []any{note} })

// Note implements dirstore.Notes.
func (l AgentStore) Note(ctx context.Context, name string) (note []byte, err error) {
	err = l.db.Read(ctx, func(c Conn) (err error) {
		note, err = ReadNote(c, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("note %s: %w", name, err)
	}
	return note, nil
}

// ReadNote returns a note of the directory; nil if it has none.
func ReadNote(c Conn, name string) ([]byte, error) {
	note, _, err := one(c, scanNote, qNote, name)
	return note, err
}

// WriteNote stores a note of the directory.
func WriteNote(c Conn, name string, note []byte) error { return c.Exec(qPutNote, name, note) }

// PutNote implements dirstore.Notes.
func (l AgentStore) PutNote(ctx context.Context, name string, note []byte) error {
	err := dirstore.ErrNoName
	switch {
	case name == "":
	case note == nil:
		err = exec(ctx, l.db, qDropNote, name)
	default:
		err = exec(ctx, l.db, qPutNote, name, bytes.Clone(note))
	}
	if err != nil {
		return fmt.Errorf("put note %s: %w", name, err)
	}
	return nil
}
