package pgstore

import (
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// columns are the columns of a head in tasks t, in the order in which Head reads them.
const columns = tables.HeadColumns

// ReadHead implements tables.TaskRow: it reads a head from a row of columns.
func (s *stmt) ReadHead(h *task.Head) error {
	h.StatusAt, h.Key = task.Millis(s.Int()), task.Key(s.Int())
	name, err := s.conn.names.Scope(s.conn, s.Int())
	h.Owner, h.Agent = name.Owner, name.Agent
	h.ID = a2a.TaskID(s.ID())
	h.ContextID = s.ID()
	h.Visibility = task.Visibility(s.Int())
	h.State = task.State(s.Int())
	h.Rev = s.Int()
	h.Version = s.Int()
	h.UpdatedAt = task.Millis(s.Int())
	if err == nil {
		err = sqlstore.DecodeHead(s.Blob(), h)
	}
	switch {
	case s.err != nil:
		return s.err
	case err != nil:
		return fmt.Errorf("head of task %d (%s): %w", h.Key, h.ID, err)
	}
	return nil
}

// Damage implements tables.TaskRow.
func (s *stmt) Damage(_ a2a.TaskID, err error) {
	if s.conn.damages != nil {
		_ = s.conn.damages.met(unavailable(err)) // reported, and no error of the read
	}
}

// bindRun binds the columns that every change sets.
func bindRun(s *stmt, ch *change) {
	s.int(ch.Next.Rev)
	s.int(ch.Next.Version)
	s.int(int64(ch.Next.UpdatedAt))
	s.text(string(ch.Next.Run.Holder))
	s.int(ch.Next.Run.Epoch)
	s.int(int64(ch.Next.Run.Dispatch))
	s.blob(ch.Rest)
}

// bindStatus binds the columns that a new status sets.
func bindStatus(s *stmt, h *task.Head) {
	s.int(int64(h.Visibility))
	s.int(int64(h.State))
	s.int(int64(h.StatusAt))
	s.int(int64(sqlstore.Ended(h)))
	s.bool(h.Due())
}
