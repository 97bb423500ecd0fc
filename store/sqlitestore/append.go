package sqlitestore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// change is a task.Change in its stored form.
type change struct {
	sqlstore.Change
	// in are the pieces of each row if one is large, and nil otherwise.
	in []pieces
	// staged is the id of the first piece if rows are in pieces already, and zero otherwise.
	staged int64
}

// Tasks is the task store in a file. It is a small value, meant to be copied.
type Tasks struct {
	tasksTable
	db *DB
}

var _ task.Store = Tasks{}

// Append implements task.Log.
func (t Tasks) Append(ctx context.Context, c *task.Change) error {
	if err := t.append(ctx, c); err != nil {
		return fmt.Errorf("append %s at rev %d: %w", c.Next.ID, c.Prev.Rev, err)
	}
	return nil
}

func (t Tasks) append(ctx context.Context, c *task.Change) error {
	if err := sqlstore.Check(c); err != nil {
		return err
	}
	r := requests.Get().(*request)
	r.change.Set(c, appendHead(r.change.Rest, c))
	r.size = len(r.change.Data) + len(r.change.Rest) + sqlstore.BesideBytes(c)
	if r.size > sqlstore.MaxAppend {
		r.free()
		return fmt.Errorf("%d bytes exceed the limit of %d", r.size, sqlstore.MaxAppend)
	}
	if err := t.db.stage(ctx, &r.change); err != nil {
		return err
	}
	staged := r.change.staged
	r.size -= pieceBytes(&r.change)
	answered, err := t.db.writer.queue.Wait(ctx, r)
	if err != nil && staged != 0 {
		t.db.unstage(&staging{first: staged}, pieceSize)
	}
	if err == nil {
		c.Next.Key = r.change.Next.Key
		if c.Hook != nil {
			c.Hook.Task = c.Next.Key
		}
	}
	if answered {
		r.free()
	}
	return err
}

var (
	qCreate = prepared(`INSERT INTO tasks
	(key, owner, scope, id, context, shown, state, status_at, ended, due, rev, version, updated_at, rest)
	VALUES (?,?,?,?,?, ?,?,?,?,?, ?,?,?,?)
	ON CONFLICT (id, owner) DO NOTHING`)

	// Indexes are updated only if their columns are set, so a change that keeps the status does
	// not set them.
	qChangeRun = prepared(`UPDATE tasks SET
	rev = ?, version = ?, updated_at = ?, rest = ?` + whereSame)

	qChangeStatus = prepared(`UPDATE tasks SET
	shown = ?, state = ?, status_at = ?, ended = ?, due = ?,
	rev = ?, version = ?, updated_at = ?, rest = ?` + whereSame)

	qAddEntries = prepared("INSERT INTO entries VALUES (?, ?)")
)

const whereSame = " WHERE key = ? AND rev = ? AND version = ? AND state = ? AND shown = ?"

// store applies a change. The first error is the answer to the caller; the second is one of
// SQLite, and fails the batch.
func (w *writer) store(ch *change) (answer, err error) {
	if ch.staged != 0 && !w.staged[ch.staged] {
		return errUnstaged, nil
	}
	sc, err := w.scopes.Number(w.conn, ch.Next.Owner, ch.Next.Agent)
	if err != nil {
		return nil, err
	}
	if ch.Request != nil {
		if used, err := w.keyUsed(ch.Request, sc.ID); used || err != nil {
			return task.ErrKeyUsed, err
		}
	}
	if ch.Prev.Rev == 0 {
		answer, err = w.create(ch, sc)
	} else {
		answer, err = w.update(ch)
	}
	if answer != nil || err != nil {
		return answer, err
	}
	if ch.Prev.Rev != 0 && ch.Prev.Shown == task.Visible {
		w.counters.Add(tables.Group{Scope: sc.ID, State: ch.Prev.State}, -1)
	}
	if ch.Next.Visibility == task.Visible {
		w.counters.Add(tables.Group{Scope: sc.ID, State: ch.Next.State}, 1)
	}
	if err := w.addEntries(ch); err != nil {
		return nil, err
	}
	if ch.staged != 0 {
		if err := w.endStaging(ch.staged); err != nil {
			return nil, err
		}
	}
	ch.Moments(&w.moments.Moments)
	return nil, w.addOthers(ch, sc)
}

// addOthers stores the data beside a change.
func (w *writer) addOthers(ch *change, sc tables.Scope) error {
	if ch.Hook != nil {
		ch.Hook.Task = ch.Next.Key
		if err := tables.SendHook(w.conn, ch.Hook); err != nil {
			return err
		}
	}
	if ch.Alias != "" {
		if err := w.putAlias(ch, sc.Owner); err != nil {
			return err
		}
	}
	if err := w.putSidecars(ch); err != nil {
		return err
	}
	if err := w.putJournal(ch); err != nil {
		return err
	}
	if ch.Request == nil {
		return nil
	}
	return w.putRequest(ch, sc.ID)
}

func (w *writer) create(ch *change, sc tables.Scope) (answer, err error) {
	key := int64(ch.Next.Key) // of a change in pieces
	if ch.staged == 0 {
		if key, err = w.peekKey(); err != nil {
			return nil, err
		}
	}
	s := w.conn.start(qCreate)
	s.int(key)
	s.int(sc.Owner)
	s.int(sc.ID)
	s.id(string(ch.Next.ID))
	s.id(ch.Next.ContextID)
	bindStatus(&s, &ch.Next)
	bindRun(&s, ch)
	n, err := s.changed()
	switch {
	case err != nil:
		return nil, fmt.Errorf("insert task: %w", err)
	case n == 0:
		return task.ErrExists, nil
	}
	if ch.staged == 0 {
		w.nextKey++
	}
	ch.Next.Key = task.Key(key)
	return nil, nil
}

func (w *writer) update(ch *change) (answer, err error) {
	q := qChangeRun
	if ch.Status {
		q = qChangeStatus
	}
	s := w.conn.start(q)
	if ch.Status {
		bindStatus(&s, &ch.Next)
	}
	bindRun(&s, ch)
	s.int(int64(ch.Next.Key))
	s.int(ch.Prev.Rev)
	s.int(ch.Prev.Version)
	s.int(int64(ch.Prev.State))
	s.int(int64(ch.Prev.Shown))
	n, err := s.changed()
	switch {
	case err != nil:
		return nil, fmt.Errorf("update task %d: %w", ch.Next.Key, err)
	case n == 0:
		return task.ErrConflict, nil
	}
	return nil, nil
}

func (w *writer) addEntries(ch *change) error {
	from := 0
	for i, r := range ch.Rows {
		s := w.conn.start(qAddEntries)
		s.int(sqlstore.Place(ch.Next.Key, r.First))
		if ch.in != nil && ch.in[i].n > 0 {
			s.blob(ch.in[i].appendReference(nil))
		} else {
			s.blob(ch.Data[from:r.End])
		}
		if err := s.done(); err != nil {
			return fmt.Errorf("insert entries of task %d: %w", ch.Next.Key, err)
		}
		from = r.End
	}
	return nil
}
