package sqlitestore

import (
	"context"
	"iter"

	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// Package tables is internal; these names keep it out of the API.
type (
	agentStoreTable = tables.AgentStore
	inboxTable      = tables.Inbox
	keysTable       = tables.Keys
	lettersTable    = tables.Letters
	tasksTable      = tables.Tasks
	trustTable      = tables.Trust
	turnsTable      = tables.Turns
)

type (
	// AgentStore is the storage of the agent directory in a file.
	AgentStore struct{ agentStoreTable }
	// Inbox is the store of the inbox in a file. It implements inbox.Store and inbox.Sweeper.
	Inbox struct{ inboxTable }
	// Keys is the store of API keys in a file. Only their hashes are stored. It implements
	// auth.KeyStore.
	Keys struct{ keysTable }
	// Letters is the store of dead letters in a file. It implements queue.LetterStore and
	// queue.LetterCounter.
	Letters struct{ lettersTable }
	// Trust is the store of trust entries in a file. It implements trust.Store.
	Trust struct{ trustTable }
	// Turns is the store of the conversation memory in a file. It implements memory.TurnStore and
	// memory.Sweeper.
	Turns struct{ turnsTable }
)

// AgentStore returns the storage of the agent directory in the file.
func (db *DB) AgentStore() AgentStore { return AgentStore{tables.NewAgentStore(shared{db})} }

// Inbox returns the store of the inbox in the file.
func (db *DB) Inbox() Inbox { return Inbox{tables.NewInbox(shared{db})} }

// Keys returns the store of API keys in the file.
func (db *DB) Keys() Keys { return Keys{tables.NewKeys(shared{db})} }

// Letters returns the store of dead letters in the file.
func (db *DB) Letters() Letters { return Letters{tables.NewLetters(shared{db})} }

// Trust returns the store of trust entries in the file.
func (db *DB) Trust() Trust { return Trust{tables.NewTrust(shared{db})} }

// Turns returns the store of the conversation memory in the file.
func (db *DB) Turns() Turns { return Turns{tables.NewTurns(shared{db})} }

// firstShared is the statement number 0 of package tables.
var firstShared = func() query {
	first := query(len(queries))
	for q := range tables.All() {
		prepared(q.SQLite())
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
func (s shared) ReadOf(ctx context.Context, key task.Key, f func(tables.Conn) error) error {
	return s.db.readOf(ctx, subject{key: key}, func(c *conn) error { return f(c) })
}

// Write implements tables.DB.
func (s shared) Write(ctx context.Context, f func(tables.Conn) error) error {
	return s.db.write(ctx, func(w *writer) error { return f(w.conn) })
}

// WriteAlone implements tables.DB. Only the writer writes.
func (s shared) WriteAlone(ctx context.Context, f func(tables.Conn) error) error {
	return s.Write(ctx, f)
}

// WriteLarge implements tables.TaskDB.
func (s shared) WriteLarge(ctx context.Context, size int, f func(tables.Conn) error) error {
	return s.db.writeLarge(ctx, size, func(w *writer) error { return f(w.conn) })
}

// Change implements tables.TaskDB.
func (s shared) Change(ctx context.Context, f func(*tables.Change) error) error {
	return s.db.write(ctx, func(w *writer) error {
		return f(&tables.Change{Conn: w.conn, Counters: &w.counters, Moments: &w.moments.Moments, Slowly: w.slowly})
	})
}

// Names implements tables.Conn.
func (c *conn) Names() *tables.Names { return &c.names }

// ours returns the number of a statement of package tables.
func (*conn) ours(q tables.Query) query { return firstShared + query(q) }

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
				s.close()
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
		}
	}
}
