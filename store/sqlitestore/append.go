package sqlitestore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/task"
)

// change is a task.Change in its stored form. It shares no memory with the caller, which may
// return before it is written.
type change struct {
	prev expected
	next task.Head
	// status is set if columns change on which an index depends.
	status bool
	// rest encodes the fields of next that have no column.
	rest []byte
	rows []row
	data []byte
	// staged is the id of the first piece if rows are in pieces already, and zero otherwise.
	staged int64
	// hook is stored together with the change; nil for none.
	hook *task.Hook
	// request is stored together with the change; nil for none.
	request *task.Request
	// alias is stored together with the change; empty for none.
	alias string
	// sidecars are stored together with the change; nil for none.
	sidecars [task.SidecarKinds][]byte
	// journal is added together with the change; forget empties the journal before.
	journal []task.Record
	forget  bool
}

// expected holds the stored values that the change requires.
type expected struct {
	rev, version int64
	state        task.State
	shown        task.Visibility
}

// row is a row of the log: its first version, the end of its bytes, and the pieces that it is in, if
// it is large.
type row struct {
	first int64
	end   int
	in    pieces
}

// set copies c into ch.
func (ch *change) set(c *task.Change) {
	ch.prev = expected{c.Prev.Rev, c.Prev.Version, c.Prev.State, c.Prev.Visibility}
	ch.next = c.Next
	ch.status = c.Prev.State != c.Next.State || c.Prev.Visibility != c.Next.Visibility ||
		c.Prev.StatusAt != c.Next.StatusAt || c.Prev.Due() != c.Next.Due()
	ch.rest = appendHead(ch.rest, c)
	for es := c.Entries; len(es) > 0; {
		n := sqlstore.Fit(es)
		ch.data = task.AppendEntries(ch.data, es[:n])
		ch.rows = append(ch.rows, row{first: es[0].Version, end: len(ch.data)})
		es = es[n:]
	}
	if c.Hook != nil {
		ch.hook = sqlstore.OwnHook(c.Hook)
	}
	if c.Request != nil {
		ch.request = sqlstore.OwnRequest(c.Request)
	}
	ch.alias = c.Alias
	ch.sidecars = sqlstore.OwnSidecars(&c.Sidecars)
	ch.journal, ch.forget = sqlstore.OwnRecords(c.Journal), c.Forget
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
	r.change.set(c)
	r.size = len(r.change.data) + len(r.change.rest) + sqlstore.BesideBytes(c)
	if r.size > sqlstore.MaxAppend {
		r.free()
		return fmt.Errorf("%d bytes are more than %d", r.size, sqlstore.MaxAppend)
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
		c.Next.Key = r.change.next.Key
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
	sc, err := w.scopes.Number(w.conn, ch.next.Owner, ch.next.Agent)
	if err != nil {
		return nil, err
	}
	if ch.request != nil {
		if used, err := w.keyUsed(ch.request, sc.ID); used || err != nil {
			return task.ErrKeyUsed, err
		}
	}
	if ch.prev.rev == 0 {
		answer, err = w.create(ch, sc)
	} else {
		answer, err = w.update(ch)
	}
	if answer != nil || err != nil {
		return answer, err
	}
	if ch.prev.rev != 0 && ch.prev.shown == task.Visible {
		w.counters.Add(tables.Group{Scope: sc.ID, State: ch.prev.state}, -1)
	}
	if ch.next.Visibility == task.Visible {
		w.counters.Add(tables.Group{Scope: sc.ID, State: ch.next.State}, 1)
	}
	if err := w.addEntries(ch); err != nil {
		return nil, err
	}
	if ch.staged != 0 {
		if err := w.endStaging(ch.staged); err != nil {
			return nil, err
		}
	}
	w.moments.addChange(ch)
	return nil, w.addOthers(ch, sc)
}

// addOthers stores the data beside a change.
func (w *writer) addOthers(ch *change, sc tables.Scope) error {
	if ch.hook != nil {
		ch.hook.Task = ch.next.Key
		if err := tables.SendHook(w.conn, ch.hook); err != nil {
			return err
		}
	}
	if ch.alias != "" {
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
	if ch.request == nil {
		return nil
	}
	return w.putRequest(ch, sc.ID)
}

func (w *writer) create(ch *change, sc tables.Scope) (answer, err error) {
	key := int64(ch.next.Key) // of a change in pieces
	if ch.staged == 0 {
		if key, err = w.peekKey(); err != nil {
			return nil, err
		}
	}
	s := w.conn.start(qCreate)
	s.int(key)
	s.int(sc.Owner)
	s.int(sc.ID)
	s.id(string(ch.next.ID))
	s.id(ch.next.ContextID)
	bindStatus(&s, &ch.next)
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
	ch.next.Key = task.Key(key)
	return nil, nil
}

func (w *writer) update(ch *change) (answer, err error) {
	q := qChangeRun
	if ch.status {
		q = qChangeStatus
	}
	s := w.conn.start(q)
	if ch.status {
		bindStatus(&s, &ch.next)
	}
	bindRun(&s, ch)
	s.int(int64(ch.next.Key))
	s.int(ch.prev.rev)
	s.int(ch.prev.version)
	s.int(int64(ch.prev.state))
	s.int(int64(ch.prev.shown))
	n, err := s.changed()
	switch {
	case err != nil:
		return nil, fmt.Errorf("update task %d: %w", ch.next.Key, err)
	case n == 0:
		return task.ErrConflict, nil
	}
	return nil, nil
}

func (w *writer) addEntries(ch *change) error {
	from := 0
	for _, r := range ch.rows {
		s := w.conn.start(qAddEntries)
		s.int(sqlstore.Place(ch.next.Key, r.first))
		if r.in.n > 0 {
			s.blob(r.in.appendReference(nil))
		} else {
			s.blob(ch.data[from:r.end])
		}
		if err := s.done(); err != nil {
			return fmt.Errorf("insert entries of task %d: %w", ch.next.Key, err)
		}
		from = r.end
	}
	return nil
}
