package sqlitestore

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
	message, err := readHeadAlone(s, h)
	if err != nil || message == 0 {
		return err
	}
	if h.StatusMessage, err = s.conn.body(h.Key, message); err != nil {
		return fmt.Errorf("status message of task %d (%s): %w", h.Key, h.ID, err)
	}
	return nil
}

// readListed is ReadHead for one of several tasks.
func (s *stmt) readListed(h *task.Head) error {
	err := s.ReadHead(h)
	if tables.Spared(h, err) {
		s.Damage(h.ID, err)
		return nil
	}
	return err
}

// Damage implements tables.TaskRow.
func (s *stmt) Damage(id a2a.TaskID, err error) {
	if s.conn.met != nil {
		s.conn.met(subject{id: id}, unavailable(err))
	}
}

// readHeadAlone is like ReadHead, and returns the version of the entry with the status message in
// place of a large message.
func readHeadAlone(s *stmt, h *task.Head) (message int64, err error) {
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
		message, err = decodeHead(s.peekBlob(), h)
	}
	if err != nil {
		err = fmt.Errorf("head of task %d (%s): %w", h.Key, h.ID, err)
	}
	return message, err
}

// getCursor reads the position in lists from a row of columns, and returns to the beginning of
// the row.
func getCursor(s *stmt) task.Cursor {
	at := task.Cursor{At: task.Millis(s.Int()), Key: task.Key(s.Int())}
	s.at = -1
	return at
}

// bindRun binds the columns that every change sets.
func bindRun(s *stmt, ch *change) {
	s.int(ch.Next.Rev)
	s.int(ch.Next.Version)
	s.int(int64(ch.Next.UpdatedAt))
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
