package tables

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/trust"
)

// Trust is the store of trust entries. See [NewTrust].
type Trust struct{ db DB }

// SharedTrust is the store of trust entries in a database of several hubs.
type SharedTrust struct{ Trust }

var (
	_ trust.Store        = Trust{}
	_ trust.ContactStore = SharedTrust{}
)

// NewTrust returns the trust entries in db.
func NewTrust(db DB) Trust { return Trust{db} }

var (
	qTrust    = prepared("SELECT who, level, skills, first_seen, last_seen, contacts FROM trust ORDER BY who")
	qPutTrust = changing(cluster.TopicTrust, `INSERT INTO trust (who, level, skills, first_seen, last_seen, contacts)
	VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (who) DO UPDATE SET level = excluded.level, skills = excluded.skills,
	first_seen = excluded.first_seen, last_seen = excluded.last_seen, contacts = excluded.contacts`)
	qAddContacts = changing(cluster.TopicTrust, `INSERT INTO trust AS t (who, level, skills, first_seen, last_seen, contacts)
	VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (who) DO UPDATE SET
	first_seen = CASE WHEN t.first_seen = 0 THEN excluded.first_seen ELSE t.first_seen END,
	last_seen = CASE WHEN t.last_seen > excluded.last_seen THEN t.last_seen ELSE excluded.last_seen END,
	contacts = t.contacts + excluded.contacts`)
)

// trustRow is the stored form of an entry.
type trustRow struct {
	trust.Entry
	skills string
}

func (r *trustRow) fields() []any {
	return []any{&r.Subject, &r.Level, &r.skills, &r.FirstSeen, &r.LastSeen, &r.Contacts}
}

func scanTrust(row Row, e *trust.Entry) error {
	var r trustRow
	scan(row, r.fields()...)
	if err := json.Unmarshal([]byte(r.skills), &r.Skills); err != nil {
		return fmt.Errorf("%w: skills approved for %s: %w", task.ErrCorrupt, r.Subject, err)
	}
	*e = r.Entry
	return nil
}

// Entries implements trust.Store.
func (t Trust) Entries(ctx context.Context) ([]trust.Entry, error) {
	all, err := list(ctx, t.db, scanTrust, qTrust)
	if err != nil {
		return nil, fmt.Errorf("trust: %w", err)
	}
	return all, nil
}

// PutEntries implements trust.Store. It stores all entries in one commit.
func (t Trust) PutEntries(ctx context.Context, entries []trust.Entry) error {
	return t.put(ctx, qPutTrust, entries)
}

// AddContacts implements trust.ContactStore.
func (t SharedTrust) AddContacts(ctx context.Context, entries []trust.Entry) error {
	return t.put(ctx, qAddContacts, entries)
}

func (t Trust) put(ctx context.Context, q Query, entries []trust.Entry) error {
	rows := make([]trustRow, len(entries)) // the writer may run after the caller has returned
	for i, e := range entries {
		if err := e.Check(); err != nil {
			return fmt.Errorf("put trust: %w", err)
		}
		skills, err := json.Marshal(append([]string{}, e.Skills...))
		if err != nil {
			return fmt.Errorf("put trust: %w", err)
		}
		rows[i] = trustRow{e, string(skills)}
	}
	// All hubs lock the rows in one order.
	slices.SortFunc(rows, func(a, b trustRow) int { return cmp.Compare(a.Subject, b.Subject) })
	err := t.db.Write(ctx, func(c Conn) error {
		for i := range rows {
			if err := c.Exec(q, rows[i].fields()...); err != nil {
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
