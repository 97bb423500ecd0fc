package pgstore

import (
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// These statements store the data beside a change. Aliases are in the table of messages, because most of
// them are ids of messages.
var (
	qPutAlias   = prepared("INSERT INTO messages VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
	qAddRecord  = prepared("INSERT INTO journal (place, data) VALUES ($1, $2) ON CONFLICT (place) DO NOTHING")
	qPutSidecar = prepared(`INSERT INTO sidecars (place, parent, data) VALUES ($1, $2, $3)
	ON CONFLICT (place) DO UPDATE SET data = excluded.data`)

	// A request with a key is stored before its change, so that another hub that uses the key waits for the
	// commit. A row of an expired request is only locked: the change may not be stored. xmax is 0 in a new row.
	qClaim = prepared(`INSERT INTO requests AS r (scope, key, fingerprint, task, version, at) VALUES ($1, $2, $3, $4, $5, $6)
	ON CONFLICT (scope, key) DO UPDATE SET at = r.at WHERE r.at < $7 RETURNING (xmax = 0)::int`)
	qUnclaim    = prepared("DELETE FROM requests WHERE scope = $1 AND key = $2")
	qPutRequest = prepared("UPDATE requests SET fingerprint = $3, task = $4, version = $5, at = $6 WHERE scope = $1 AND key = $2")
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

// claim sends the statement that claims the key of the request of a change.
func (w *writer) claim(ch *change) (err error) {
	s := w.bindRequest(qClaim, ch)
	s.int(int64(ch.Request.Since))
	ch.claimed, err = w.conn.send(qClaim)
	return err
}

func (w *writer) bindRequest(q query, ch *change) stmt {
	s := w.conn.start(q)
	s.int(ch.scope.ID)
	s.text(ch.Request.Key)
	s.blob(ch.Request.Fingerprint)
	s.int(int64(ch.Next.Key))
	s.int(ch.Next.Version)
	s.int(int64(ch.Request.At))
	return s
}

// keyUsed reports whether an earlier request of the scope has the key of the change.
func (ch *change) keyUsed() bool { return ch.claimed != nil && len(ch.claimed.rows) == 0 }

// settleRequest stores the request of a change, or removes it if the change is not stored.
func (w *writer) settleRequest(ch *change, stored bool) error {
	if ch.claimed == nil {
		return nil
	}
	row := stmt{conn: w.conn, row: ch.claimed.rows[0], at: -1}
	fresh := row.getBool()
	var s stmt
	switch {
	case row.err != nil || fresh == stored:
		return row.err
	case stored:
		s = w.bindRequest(qPutRequest, ch)
	default:
		s = w.conn.start(qUnclaim)
		s.int(ch.scope.ID)
		s.text(ch.Request.Key)
	}
	if err := s.done(); err != nil {
		return fmt.Errorf("store request: %w", err)
	}
	return nil
}

var qCount = prepared(`INSERT INTO counters (scope, state, n, slot) VALUES ($1, $2, $3, $4)
	ON CONFLICT (scope, state, slot) DO UPDATE SET n = counters.n + excluded.n`)

// count stores a change of the number of visible tasks of a group.
func (w *writer) count(g tables.Group, n int64) error {
	s := w.conn.start(qCount)
	s.int(g.Scope)
	s.int(int64(g.State))
	s.int(n)
	s.int(w.slot)
	return s.done()
}
