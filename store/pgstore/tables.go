package pgstore

import (
	"context"
	"iter"

	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

type (
	// AgentStore is the storage of the agent directory in a database.
	AgentStore = tables.SharedAgentStore
	// Inbox is the store of the inbox in a database.
	Inbox = tables.Inbox
	// Keys is the store of API keys in a database. Only their hashes are stored.
	Keys = tables.Keys
	// Letters is the store of dead letters in a database.
	Letters = tables.Letters
	// Notes is the store of the working memory in a database.
	Notes = tables.Notes
	// Trust is the store of trust entries in a database.
	Trust = tables.SharedTrust
	// Turns is the store of the conversation memory in a database.
	Turns = tables.Turns
)

// AgentStore returns the storage of the agent directory in the database.
func (db *DB) AgentStore() AgentStore {
	return AgentStore{AgentStore: tables.NewAgentStore(shared{db})}
}

// Inbox returns the store of the inbox in the database.
func (db *DB) Inbox() Inbox { return tables.NewInbox(shared{db}) }

// Keys returns the store of API keys in the database.
func (db *DB) Keys() Keys { return tables.NewKeys(shared{db}) }

// Letters returns the store of dead letters in the database.
func (db *DB) Letters() Letters { return tables.NewLetters(shared{db}) }

// Trust returns the store of trust entries in the database.
func (db *DB) Trust() Trust { return Trust{Trust: tables.NewTrust(shared{db})} }

// Turns returns the store of the conversation memory in the database.
func (db *DB) Turns() Turns { return tables.NewTurns(shared{db}) }

// firstShared is the statement number 0 of package tables.
var firstShared = func() query {
	first := query(len(queries))
	for q := range tables.All() {
		prepared(q.PostgreSQL())
	}
	return first
}()

// shared is a DB for package tables.
type shared struct{ db *DB }

var (
	_ tables.TaskDB  = shared{}
	_ tables.TaskRow = (*stmt)(nil)
)

// Read implements tables.DB.
func (s shared) Read(ctx context.Context, f func(tables.Conn) error) error {
	return s.db.read(ctx, func(c *conn) error { return f(c) })
}

// View implements tables.DB.
func (s shared) View(ctx context.Context, f func(tables.Conn) error) error {
	return s.db.view(ctx, func(c *conn) error { return f(c) })
}

// ReadOf implements tables.TaskDB.
func (s shared) ReadOf(ctx context.Context, _ task.Key, f func(tables.Conn) error) error {
	return s.Read(ctx, f)
}

// Write implements tables.DB.
func (s shared) Write(ctx context.Context, f func(tables.Conn) error) error {
	return s.db.write(ctx, func(w *writer) error { return f(w.conn) })
}

// WriteAlone implements tables.DB.
func (s shared) WriteAlone(ctx context.Context, f func(tables.Conn) error) error {
	return s.db.send(ctx, true, func(w *writer) error { return f(w.conn) })
}

// WriteLarge implements tables.TaskDB.
func (s shared) WriteLarge(ctx context.Context, _ int, f func(tables.Conn) error) error {
	return s.Write(ctx, f)
}

// Change implements tables.TaskDB.
func (s shared) Change(ctx context.Context, f func(*tables.Change) error) error {
	return s.db.write(ctx, func(w *writer) error {
		return f(&tables.Change{Conn: w.conn, Counters: &w.counters, Moments: &w.moments, Slowly: slowly})
	})
}

// Names implements tables.Conn.
func (c *conn) Names() *tables.Names { return &c.names }

// ours returns the number of a statement of package tables.
func (c *conn) ours(q tables.Query) query {
	if topic := q.Topic(); topic != "" {
		c.touched(topic)
	}
	return firstShared + query(q)
}

// bind begins an execution of q with values as those of package tables.
func (c *conn) bind(q query, values ...any) stmt {
	s := c.start(q)
	for _, v := range values {
		switch v := tables.Plain(v).(type) {
		case int64:
			s.int(v)
		case string:
			s.text(v)
		case []byte:
			s.blob(v)
		case tables.ID:
			s.anyID(v)
		}
	}
	return s
}

// Exec implements tables.Conn.
func (c *conn) Exec(q tables.Query, values ...any) error {
	s := c.bind(c.ours(q), values...)
	return s.done()
}

// Changed implements tables.Conn.
func (c *conn) Changed(q tables.Query, values ...any) (int, error) {
	s := c.bind(c.ours(q), values...)
	return s.changed()
}

// Rows implements tables.Conn.
func (c *conn) Rows(q tables.Query, values ...any) iter.Seq2[tables.Row, error] {
	return c.rows(c.ours(q), values...)
}

func (c *conn) rows(q query, values ...any) iter.Seq2[tables.Row, error] {
	return func(yield func(tables.Row, error) bool) {
		s := c.bind(q, values...)
		for s.next() {
			if !yield(&s, nil) {
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
		}
	}
}

// slowly reports whether the entries of a task are deleted after it.
func slowly(_ task.Key, version int64) (bool, error) { return version > tables.SliceRows, nil }
