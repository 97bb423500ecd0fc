package pgstore

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

	// These are the writer's: the numbers of owner and scope, and the results of the statements
	// on which the answer depends.
	scope   tables.Scope
	claimed *reply // nil without a request
	done    *reply
}

// Tasks is the task store in a database. It is a small value, meant to be copied.
type Tasks struct {
	tables.Tasks
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
	r.change.Set(c, sqlstore.AppendHead(r.change.Rest, &c.Next))
	r.size = len(r.change.Data) + len(c.Next.StatusMessage) + sqlstore.BesideBytes(c)
	if r.size > sqlstore.MaxAppend {
		r.free()
		return fmt.Errorf("%d bytes exceed the limit of %d", r.size, sqlstore.MaxAppend)
	}
	answered, err := t.db.writer.queue.Wait(ctx, r)
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
	(key, owner, scope, id, context, shown, state, status_at, ended, due,
	rev, version, updated_at, holder, epoch, dispatch, rest)
	VALUES ($1,$2,$3,$4,$5, $6,$7,$8,$9,$10, $11,$12,$13,$14,$15,$16,$17)
	ON CONFLICT (id, owner) DO NOTHING`)

	// A change that keeps the status sets no column of an index, so that the new row stays on the
	// page of the old one.
	qChangeRun = prepared(`UPDATE tasks SET
	rev = $1, version = $2, updated_at = $3, holder = $4, epoch = $5, dispatch = $6, rest = $7
	WHERE key = $8 AND rev = $9 AND version = $10 AND state = $11 AND shown = $12`)

	qChangeStatus = prepared(`UPDATE tasks SET
	shown = $1, state = $2, status_at = $3, ended = $4, due = $5,
	rev = $6, version = $7, updated_at = $8, holder = $9, epoch = $10, dispatch = $11, rest = $12
	WHERE key = $13 AND rev = $14 AND version = $15 AND state = $16 AND shown = $17`)

	qAddEntries = prepared("INSERT INTO entries VALUES ($1, $2)")
)

// storeAll applies the changes of a batch. Changes that use the same request key are applied one
// after the other.
func (w *writer) storeAll(batch []*request) error {
	type key struct {
		tables.ScopeName
		key string
	}
	var round, later []*request
	for _, r := range batch {
		if r.job == nil {
			later = append(later, r)
		}
	}
	for len(later) > 0 {
		used := make(map[key]bool)
		left := later
		round, later = nil, nil
		for _, r := range left {
			if q := r.change.Request; q != nil {
				k := key{tables.ScopeName{Owner: r.change.Next.Owner, Agent: r.change.Next.Agent}, q.Key}
				if used[k] {
					later = append(later, r)
					continue
				}
				used[k] = true
			}
			round = append(round, r)
		}
		if err := w.storeRound(round); err != nil {
			return err
		}
	}
	return nil
}

// storeRound applies changes that do not depend on each other. Each step sends the statements of
// all changes and waits once.
func (w *writer) storeRound(round []*request) error {
	if err := w.sendClaims(round); err != nil {
		return err
	}
	for _, r := range round {
		ch := &r.change
		if ch.keyUsed() {
			r.err = task.ErrKeyUsed
			continue
		}
		if err := w.sendHead(ch); err != nil {
			return err
		}
	}
	if err := w.conn.sync(); err != nil {
		return fmt.Errorf("write heads: %w", err)
	}
	for _, r := range round {
		if r.err != nil {
			continue
		}
		r.err = r.change.answer()
		if err := w.settleRequest(&r.change, r.err == nil); err != nil {
			return err
		}
		if r.err != nil {
			continue
		}
		if err := w.addRest(&r.change); err != nil {
			return err
		}
	}
	return nil
}

// sendClaims finds the numbers of owners and scopes and the keys of new tasks, and claims the keys of
// requests.
func (w *writer) sendClaims(round []*request) (err error) {
	for _, r := range round {
		ch := &r.change
		ch.claimed, ch.done, r.err = nil, nil, nil
		if ch.scope, err = w.scopes.Number(w.conn, ch.Next.Owner, ch.Next.Agent); err != nil {
			return err
		}
		if ch.Prev.Rev == 0 {
			key, err := w.takeKey()
			if err != nil {
				return err
			}
			ch.Next.Key = task.Key(key)
		}
	}
	for _, r := range round {
		if r.change.Request == nil {
			continue
		}
		if err := w.claim(&r.change); err != nil {
			return err
		}
	}
	return w.conn.sync()
}

// sendHead sends the statement that creates or changes the head.
func (w *writer) sendHead(ch *change) (err error) {
	if ch.Prev.Rev == 0 {
		s := w.conn.start(qCreate)
		s.int(int64(ch.Next.Key))
		s.int(ch.scope.Owner)
		s.int(ch.scope.ID)
		s.id(string(ch.Next.ID))
		s.id(ch.Next.ContextID)
		bindStatus(&s, &ch.Next)
		bindRun(&s, ch)
		ch.done, err = w.conn.send(qCreate)
		return err
	}
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
	ch.done, err = w.conn.send(q)
	return err
}

// answer returns the error for the caller whose head was not written.
func (ch *change) answer() error {
	switch {
	case ch.done.changed > 0:
		return nil
	case ch.Prev.Rev == 0:
		return task.ErrExists
	}
	return task.ErrConflict
}

// addRest stores the entries and the data beside a change whose head is written.
func (w *writer) addRest(ch *change) error {
	w.hint.changed(ch.Next.Key, ch.Next.CancelAt != 0 && ch.Next.State.Open())
	if ch.Prev.Rev != 0 && ch.Prev.Shown == task.Visible {
		w.counters.Add(tables.Group{Scope: ch.scope.ID, State: ch.Prev.State}, -1)
	}
	if ch.Next.Visibility == task.Visible {
		w.counters.Add(tables.Group{Scope: ch.scope.ID, State: ch.Next.State}, 1)
	}
	if err := w.addEntries(ch); err != nil {
		return err
	}
	ch.Moments(&w.moments)
	if ch.Hook != nil {
		ch.Hook.Task = ch.Next.Key
		if err := tables.SendHook(w.conn, ch.Hook); err != nil {
			return err
		}
	}
	if ch.Alias != "" {
		if err := w.putAlias(ch, ch.scope.Owner); err != nil {
			return err
		}
	}
	if err := w.putSidecars(ch); err != nil {
		return err
	}
	return w.putJournal(ch)
}

func (w *writer) addEntries(ch *change) error {
	from := 0
	for _, r := range ch.Rows {
		s := w.conn.start(qAddEntries)
		s.int(sqlstore.Place(ch.Next.Key, r.First))
		s.blob(ch.Data[from:r.End])
		if err := s.done(); err != nil {
			return fmt.Errorf("insert entries of task %d: %w", ch.Next.Key, err)
		}
		from = r.End
	}
	return nil
}
