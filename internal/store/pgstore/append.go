package pgstore

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

	// These are the writer's: the numbers of owner and scope, and the results of the statements
	// on which the answer depends.
	scope tables.Scope
	used  *reply // nil without a request
	done  *reply
}

// expected holds the stored values that the change requires.
type expected struct {
	rev, version int64
	state        task.State
	shown        task.Visibility
}

// row is a row of the log: its first version, and the end of its bytes.
type row struct {
	first int64
	end   int
}

// set copies c into ch.
func (ch *change) set(c *task.Change) {
	ch.prev = expected{c.Prev.Rev, c.Prev.Version, c.Prev.State, c.Prev.Visibility}
	ch.next = c.Next
	ch.status = c.Prev.State != c.Next.State || c.Prev.Visibility != c.Next.Visibility ||
		c.Prev.StatusAt != c.Next.StatusAt || c.Prev.Due() != c.Next.Due()
	ch.rest = sqlstore.AppendHead(ch.rest, &c.Next)
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
	r.change.set(c)
	r.size = len(r.change.data) + len(c.Next.StatusMessage) + sqlstore.BesideBytes(c)
	if r.size > sqlstore.MaxAppend {
		r.free()
		return fmt.Errorf("%d bytes are more than %d", r.size, sqlstore.MaxAppend)
	}
	answered, err := t.db.writer.queue.Wait(ctx, r)
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
			if q := r.change.request; q != nil {
				k := key{tables.ScopeName{Owner: r.change.next.Owner, Agent: r.change.next.Agent}, q.Key}
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
	if err := w.sendRequestKeys(round); err != nil {
		return err
	}
	for _, r := range round {
		ch := &r.change
		if r.err = ch.keyUsed(); r.err != nil {
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
		if r.err == nil {
			r.err = r.change.answer()
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

// sendRequestKeys finds the numbers of owners and scopes, and the ages of request keys.
func (w *writer) sendRequestKeys(round []*request) (err error) {
	for _, r := range round {
		ch := &r.change
		ch.used, ch.done = nil, nil
		if ch.scope, err = w.scopes.Number(w.conn, ch.next.Owner, ch.next.Agent); err != nil {
			return err
		}
	}
	for _, r := range round {
		ch := &r.change
		if ch.request == nil {
			continue
		}
		s := w.conn.start(qRequestAge)
		s.int(ch.scope.ID)
		s.text(ch.request.Key)
		if ch.used, err = w.conn.send(qRequestAge); err != nil {
			return err
		}
	}
	return w.conn.sync()
}

// sendHead sends the statement that creates or changes the head.
func (w *writer) sendHead(ch *change) (err error) {
	if ch.prev.rev == 0 {
		var key int64
		if key, err = w.takeKey(); err != nil {
			return err
		}
		ch.next.Key = task.Key(key)
		s := w.conn.start(qCreate)
		s.int(key)
		s.int(ch.scope.Owner)
		s.int(ch.scope.ID)
		s.id(string(ch.next.ID))
		s.id(ch.next.ContextID)
		bindStatus(&s, &ch.next)
		bindRun(&s, ch)
		ch.done, err = w.conn.send(qCreate)
		return err
	}
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
	ch.done, err = w.conn.send(q)
	return err
}

// answer returns the error for the caller whose head was not written.
func (ch *change) answer() error {
	switch {
	case ch.done.changed > 0:
		return nil
	case ch.prev.rev == 0:
		return task.ErrExists
	}
	return task.ErrConflict
}

// addRest stores the entries and the data beside a change whose head is written.
func (w *writer) addRest(ch *change) error {
	w.turn.changed(ch.next.Key)
	if ch.prev.rev != 0 && ch.prev.shown == task.Visible {
		w.counters.Add(tables.Group{Scope: ch.scope.ID, State: ch.prev.state}, -1)
	}
	if ch.next.Visibility == task.Visible {
		w.counters.Add(tables.Group{Scope: ch.scope.ID, State: ch.next.State}, 1)
	}
	if err := w.addEntries(ch); err != nil {
		return err
	}
	w.moments.addChange(ch)
	if ch.hook != nil {
		ch.hook.Task = ch.next.Key
		if err := tables.SendHook(w.conn, ch.hook); err != nil {
			return err
		}
	}
	if ch.alias != "" {
		if err := w.putAlias(ch, ch.scope.Owner); err != nil {
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
	return w.putRequest(ch, ch.scope.ID)
}

func (w *writer) addEntries(ch *change) error {
	from := 0
	for _, r := range ch.rows {
		s := w.conn.start(qAddEntries)
		s.int(sqlstore.Place(ch.next.Key, r.first))
		s.blob(ch.data[from:r.end])
		if err := s.done(); err != nil {
			return fmt.Errorf("insert entries of task %d: %w", ch.next.Key, err)
		}
		from = r.end
	}
	return nil
}
