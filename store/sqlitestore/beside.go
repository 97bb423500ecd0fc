package sqlitestore

import (
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// These statements store the data beside a change. Aliases are in the table of messages, because most of
// them are ids of messages.
var (
	qPutAlias   = prepared("INSERT INTO messages VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
	qAddRecord  = prepared("INSERT INTO journal (place, data) VALUES (?, ?) ON CONFLICT (place) DO NOTHING")
	qPutSidecar = prepared(`INSERT INTO sidecars (place, parent, data) VALUES (?, ?, ?)
	ON CONFLICT (place) DO UPDATE SET data = excluded.data`)

	qRequestAge = prepared("SELECT at FROM requests WHERE scope = ? AND key = ?")

	qPutRequest = prepared(`INSERT INTO requests (scope, key, fingerprint, task, version, at) VALUES (?, ?, ?, ?, ?, ?)
	ON CONFLICT (scope, key) DO UPDATE SET
	fingerprint = excluded.fingerprint, task = excluded.task, version = excluded.version, at = excluded.at`)
)

// putAlias stores the alias of a change.
func (w *writer) putAlias(ch *change, owner int64) error {
	s := w.conn.start(qPutAlias)
	s.int(owner)
	s.text(ch.Alias)
	s.int(int64(ch.Next.Key))
	if err := s.done(); err != nil {
		return fmt.Errorf("insert alias: %w", err)
	}
	return nil
}

func (w *writer) putSidecars(ch *change) error {
	for i, data := range ch.Sidecars {
		if data == nil {
			continue
		}
		kind := task.SidecarKind(i)
		s := w.conn.start(qPutSidecar)
		s.int(sqlstore.SidecarPlace(kind, ch.Next.Key))
		content, _ := sqlstore.Content(data) // it has just been made
		s.int(int64(kind.Parent(content)))
		s.blob(data)
		if err := s.done(); err != nil {
			return fmt.Errorf("insert sidecar %d: %w", kind, err)
		}
	}
	return nil
}

// putJournal applies a change to the journal of its task.
func (w *writer) putJournal(ch *change) error {
	if ch.Forget {
		if err := tables.DropJournal(w.conn, ch.Next.Key); err != nil {
			return err
		}
	}
	for i := range ch.Journal {
		s := w.conn.start(qAddRecord)
		s.int(sqlstore.Place(ch.Next.Key, ch.Journal[i].Number))
		s.blob(ch.Journal[i].Data)
		if err := s.done(); err != nil {
			return fmt.Errorf("insert record: %w", err)
		}
	}
	return nil
}

// keyUsed reports whether an earlier request of the scope has the key of r.
func (w *writer) keyUsed(r *task.Request, scope int64) (bool, error) {
	s := w.conn.start(qRequestAge)
	s.int(scope)
	s.text(r.Key)
	if !s.next() {
		return false, s.err
	}
	at := task.Millis(s.Int())
	s.close()
	return at >= r.Since, s.err
}

// putRequest stores the request of a change.
func (w *writer) putRequest(ch *change, scope int64) error {
	s := w.conn.start(qPutRequest)
	s.int(scope)
	s.text(ch.Request.Key)
	s.blob(ch.Request.Fingerprint)
	s.int(int64(ch.Next.Key))
	s.int(ch.Next.Version)
	s.int(int64(ch.Request.At))
	if err := s.done(); err != nil {
		return fmt.Errorf("insert request: %w", err)
	}
	return nil
}

var qCount = prepared(`INSERT INTO counters VALUES (?, ?, ?)
	ON CONFLICT (scope, state) DO UPDATE SET n = n + excluded.n`)

// count stores a change of the number of visible tasks of a group.
func (w *writer) count(g tables.Group, n int64) error {
	s := w.conn.start(qCount)
	s.int(g.Scope)
	s.int(int64(g.State))
	s.int(n)
	return s.done()
}
