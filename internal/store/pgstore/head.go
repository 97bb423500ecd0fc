package pgstore

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/task"
)

// columns are the columns of a head in tasks t, in the order in which getHead reads them.
const columns = tables.HeadColumns

// getHead reads a head from a row of columns.
func getHead(s *stmt) task.Head {
	h := task.Head{StatusAt: task.Millis(s.getInt()), Key: task.Key(s.getInt())}
	name, err := s.conn.names.Scope(s.conn, s.getInt())
	h.Owner, h.Agent = name.Owner, name.Agent
	h.ID = a2a.TaskID(s.getID())
	h.ContextID = s.getID()
	h.Visibility = task.Visibility(s.getInt())
	h.State = task.State(s.getInt())
	h.Rev = s.getInt()
	h.Version = s.getInt()
	h.UpdatedAt = task.Millis(s.getInt())
	if err == nil {
		err = sqlstore.DecodeHead(s.getBlob(), &h)
	}
	if err != nil && s.err == nil {
		s.err = err
	}
	return h
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
