package pgstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/parley-a2a/parley/auth/trust"
	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/task"
)

// Trust is the store of trust entries in a database.
type Trust struct{ db *DB }

var (
	_ trust.Store        = Trust{}
	_ trust.ContactStore = Trust{}
)

// Trust returns the store of trust entries in the database.
func (db *DB) Trust() Trust { return Trust{db} }

var (
	qTrust    = prepared("SELECT who, level, skills, first_seen, last_seen, contacts FROM trust ORDER BY who")
	qPutTrust = prepared(`INSERT INTO trust (who, level, skills, first_seen, last_seen, contacts)
	VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (who) DO UPDATE SET level = excluded.level, skills = excluded.skills,
	first_seen = excluded.first_seen, last_seen = excluded.last_seen, contacts = excluded.contacts`)
	qAddContacts = prepared(`INSERT INTO trust AS t (who, level, skills, first_seen, last_seen, contacts)
	VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (who) DO UPDATE SET
	first_seen = CASE WHEN t.first_seen = 0 THEN excluded.first_seen ELSE t.first_seen END,
	last_seen = greatest(t.last_seen, excluded.last_seen), contacts = t.contacts + excluded.contacts`)
)

// Entries implements trust.Store.
func (t Trust) Entries(ctx context.Context) ([]trust.Entry, error) {
	var all []trust.Entry
	err := t.db.read(ctx, func(c *conn) error {
		s := c.start(qTrust)
		for s.next() {
			e := trust.Entry{Subject: trust.Subject(s.getText()), Level: trust.Level(s.getInt())}
			if err := json.Unmarshal([]byte(s.getText()), &e.Skills); err != nil {
				return fmt.Errorf("%w: skills approved for %s: %w", task.ErrCorrupt, e.Subject, err)
			}
			e.FirstSeen, e.LastSeen, e.Contacts = s.getTime(), s.getTime(), s.getInt()
			all = append(all, e)
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("trust: %w", err)
	}
	return all, nil
}

// trustRow is the stored form of an entry.
type trustRow struct {
	trust.Entry
	skills []byte
}

// PutEntries implements trust.Store. It stores all entries in one commit.
func (t Trust) PutEntries(ctx context.Context, entries []trust.Entry) error {
	return t.put(ctx, qPutTrust, entries)
}

// AddContacts implements trust.ContactStore.
func (t Trust) AddContacts(ctx context.Context, entries []trust.Entry) error {
	return t.put(ctx, qAddContacts, entries)
}

func (t Trust) put(ctx context.Context, q query, entries []trust.Entry) error {
	rows := make([]trustRow, len(entries)) // the writer may run after the caller has returned
	for i, e := range entries {
		if err := e.Check(); err != nil {
			return fmt.Errorf("put trust: %w", err)
		}
		skills, err := json.Marshal(append([]string{}, e.Skills...))
		if err != nil {
			return fmt.Errorf("put trust: %w", err)
		}
		rows[i] = trustRow{e, skills}
	}
	err := t.db.write(ctx, func(w *writer) error {
		w.touched(cluster.TopicTrust)
		for i := range rows {
			if err := w.putTrust(q, &rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("put trust: %w", err)
	}
	return nil
}

func (w *writer) putTrust(q query, row *trustRow) error {
	s := w.conn.start(q)
	s.text(string(row.Subject))
	s.int(int64(row.Level))
	s.text(string(row.skills))
	s.time(row.FirstSeen)
	s.time(row.LastSeen)
	s.int(row.Contacts)
	return s.done()
}
