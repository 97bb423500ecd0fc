package pgstore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/parley-a2a/parley/agent/card"
	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/task"
)

// AgentStore is the storage of the agent directory in a database.
type AgentStore struct{ db *DB }

var (
	_ dirstore.Store     = AgentStore{}
	_ dirstore.Notes     = AgentStore{}
	_ dirstore.CardStore = AgentStore{}
)

// AgentStore returns the storage of the agent directory in the database.
func (db *DB) AgentStore() AgentStore { return AgentStore{db} }

var (
	qRecords = prepared(`SELECT name, spec, secret, card, card_url, etag, seen_at, created_at, updated_at
	FROM agents ORDER BY name`)
	qPutRecord = prepared(`INSERT INTO agents (name, spec, secret, card, card_url, etag, seen_at, created_at, updated_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (name) DO UPDATE SET
	spec = excluded.spec, secret = excluded.secret, card = excluded.card, card_url = excluded.card_url,
	etag = excluded.etag, seen_at = excluded.seen_at, created_at = excluded.created_at, updated_at = excluded.updated_at`)
	qPutCard = prepared(`UPDATE agents SET card = $3, card_url = $4, etag = $5, seen_at = $6
	WHERE name = $1 AND updated_at = $2`)
	qDropRecord = prepared("DELETE FROM agents WHERE name = $1")

	qNote     = prepared("SELECT note FROM notes WHERE name = $1")
	qPutNote  = prepared("INSERT INTO notes (name, note) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET note = excluded.note")
	qDropNote = prepared("DELETE FROM notes WHERE name = $1")
)

// Records implements dirstore.Store.
func (l AgentStore) Records(ctx context.Context) ([]card.Record, error) {
	var all []card.Record
	err := l.db.read(ctx, func(c *conn) error {
		s := c.start(qRecords)
		for s.next() {
			all = append(all, card.Record{
				Name: task.Agent(s.getText()), Spec: s.getBlob(), Secret: s.getBlob(), Card: s.getBlob(),
				CardURL: s.getText(), ETag: s.getText(),
				SeenAt: s.getTime(), CreatedAt: s.getTime(), UpdatedAt: s.getTime(),
			})
		}
		return s.err
	})
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
	row := r.Clone() // the writer may run after the caller has returned
	err := l.db.write(ctx, func(w *writer) error {
		s := w.conn.start(qPutRecord)
		s.text(string(row.Name))
		s.blob(row.Spec)
		s.blob(row.Secret)
		s.blob(row.Card)
		s.text(row.CardURL)
		s.text(row.ETag)
		s.time(row.SeenAt)
		s.time(row.CreatedAt)
		s.time(row.UpdatedAt)
		w.touchedAgent(row)
		return s.done()
	})
	if err != nil {
		return fmt.Errorf("put record of agent %s: %w", r.Name, err)
	}
	return nil
}

// touchedAgent notifies other hubs of a registered agent. Each hub reads the cards of the others
// itself.
func (w *writer) touchedAgent(r *card.Record) {
	if r.Spec != nil {
		w.touched(cluster.TopicAgents)
	}
}

// PutCard implements dirstore.CardStore.
func (l AgentStore) PutCard(ctx context.Context, r *card.Record) error {
	if r.Spec == nil {
		return l.PutRecord(ctx, r)
	}
	row := r.Clone()
	err := l.db.write(ctx, func(w *writer) error {
		s := w.conn.start(qPutCard)
		s.text(string(row.Name))
		s.time(row.UpdatedAt)
		s.blob(row.Card)
		s.text(row.CardURL)
		s.text(row.ETag)
		s.time(row.SeenAt)
		return s.done()
	})
	if err != nil {
		return fmt.Errorf("put card of agent %s: %w", r.Name, err)
	}
	return nil
}

// DropRecord implements dirstore.Store.
func (l AgentStore) DropRecord(ctx context.Context, name task.Agent) error {
	err := l.db.write(ctx, func(w *writer) error {
		w.touched(cluster.TopicAgents)
		s := w.conn.start(qDropRecord)
		s.text(string(name))
		return s.done()
	})
	if err != nil {
		return fmt.Errorf("drop record of agent %s: %w", name, err)
	}
	return nil
}

func (l AgentStore) drop(ctx context.Context, q query, name string) error {
	return l.db.write(ctx, func(w *writer) error {
		s := w.conn.start(q)
		s.text(name)
		return s.done()
	})
}

// Note implements dirstore.Notes.
func (l AgentStore) Note(ctx context.Context, name string) ([]byte, error) {
	var note []byte
	err := l.db.read(ctx, func(c *conn) error {
		s := c.start(qNote)
		s.text(name)
		if s.next() {
			note = s.getBlob()
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("note %s: %w", name, err)
	}
	return note, nil
}

// PutNote implements dirstore.Notes.
func (l AgentStore) PutNote(ctx context.Context, name string, note []byte) error {
	err := dirstore.ErrNoName
	switch row := bytes.Clone(note); {
	case name == "":
	case note == nil:
		err = l.drop(ctx, qDropNote, name)
	default:
		err = l.db.write(ctx, func(w *writer) error {
			s := w.conn.start(qPutNote)
			s.text(name)
			s.blob(row)
			return s.done()
		})
	}
	if err != nil {
		return fmt.Errorf("put note %s: %w", name, err)
	}
	return nil
}
