package sqlitestore

import (
	"context"
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/task"
)

// hookColumns are the columns of a hook, in the order in which getHook reads them.
const hookColumns = `h.task, h.id, h.url, h.dialect, h.scheme, h.secret, h.created_at, h.told, h.settled`

// headOfHook joins the head of a hook's task. The hooks are found first, in order.
const headOfHook = ` CROSS JOIN tasks t ON t.key = h.task `

var (
	qPutHook = prepared(`INSERT INTO hooks (task, id, url, dialect, scheme, secret, created_at, told, settled)
	SELECT key, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM tasks WHERE key = ?1
	ON CONFLICT (task, id) DO UPDATE SET url = excluded.url, dialect = excluded.dialect, scheme = excluded.scheme,
	secret = excluded.secret, created_at = excluded.created_at, told = excluded.told, settled = excluded.settled`)

	qDropHook    = prepared("DELETE FROM hooks WHERE task = ? AND id = ?")
	qDropLetters = prepared("DELETE FROM dead_letters WHERE task = ? AND hook = ?")

	qHooksOfTask = prepared("SELECT " + hookColumns + ` FROM hooks h
	WHERE h.task = ?1 AND h.id > ?2 ORDER BY h.id LIMIT ?3`)
)

func bindHook(s *stmt, h *task.Hook) {
	s.int(int64(h.Task))
	s.text(h.ID)
	s.text(h.URL)
	s.int(int64(h.Dialect))
	s.text(h.Scheme)
	s.blob(h.Secret)
	s.int(int64(h.CreatedAt))
	s.int(h.Position)
	s.bool(h.Settled)
}

func getHook(s *stmt) task.Hook {
	return task.Hook{
		Task:      task.Key(s.getInt()),
		ID:        s.getText(),
		URL:       s.getText(),
		Dialect:   uint8(s.getInt()),
		Scheme:    s.getText(),
		Secret:    s.getBlob(),
		CreatedAt: task.Millis(s.getInt()),
		Position:  s.getInt(),
		Settled:   s.getBool(),
	}
}

// startRef begins an execution of q and binds ref as its first values.
func (c *conn) startRef(q query, ref task.HookRef) stmt {
	s := c.start(q)
	s.int(int64(ref.Task))
	s.text(ref.ID)
	return s
}

// PutHook implements task.Hooks.
func (t Tasks) PutHook(ctx context.Context, h *task.Hook) error {
	err := task.ErrHookID
	if h.ID != "" {
		err = t.putHook(ctx, sqlstore.OwnHook(h))
	}
	if err != nil {
		return fmt.Errorf("put hook %s of task %d: %w", h.ID, h.Task, err)
	}
	return nil
}

func (t Tasks) putHook(ctx context.Context, h *task.Hook) error {
	stored, err := writeValue(ctx, t.db, func(w *writer) (bool, error) { return w.putHook(h) })
	if err == nil && !stored {
		err = task.ErrNotFound
	}
	return err
}

// putHook stores h. It reports false if its task does not exist.
func (w *writer) putHook(h *task.Hook) (bool, error) {
	s := w.conn.start(qPutHook)
	bindHook(&s, h)
	n, err := s.changed()
	if err != nil || n == 0 {
		return false, err
	}
	s = w.conn.startRef(qDropLetters, h.Ref())
	return true, s.done()
}

// Hooks implements task.Hooks.
func (t Tasks) Hooks(ctx context.Context, key task.Key, after string, limit int) ([]task.Hook, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("hooks of task %d: limit %d is not positive", key, limit)
	}
	var found []task.Hook
	err := t.db.readOf(ctx, subject{key: key}, func(c *conn) error {
		s := c.startRef(qHooksOfTask, task.HookRef{Task: key, ID: after})
		s.int(int64(limit))
		for s.next() {
			found = append(found, getHook(&s))
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("hooks of task %d: %w", key, err)
	}
	return found, nil
}

// DropHook implements task.Hooks.
func (t Tasks) DropHook(ctx context.Context, ref task.HookRef) error {
	err := t.db.write(ctx, func(w *writer) error {
		for _, q := range []query{qDropHook, qDropLetters} {
			s := w.conn.startRef(q, ref)
			if err := s.done(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop hook %s of task %d: %w", ref.ID, ref.Task, err)
	}
	return nil
}

// Each of these statements returns the hooks above a ref, and ends with a limit.
var (
	qUnsettled = prepared("SELECT " + hookColumns + ", " + columns + ` FROM hooks h INDEXED BY hooks_unsettled` + headOfHook + `
	WHERE h.settled = 0 AND (h.task, h.id) > (?1, ?2) ORDER BY h.task, h.id LIMIT ?3`)

	qHooks = prepared("SELECT " + hookColumns + ", " + columns + ` FROM hooks h` + headOfHook + `
	WHERE (h.task, h.id) > (?1, ?2) ORDER BY h.task, h.id LIMIT ?3`)

	// Every dead letter has a hook, so the inner limit is sufficient.
	qHooksDead = prepared("SELECT " + hookColumns + ", " + columns + ` FROM
	(SELECT DISTINCT task, hook FROM dead_letters WHERE (task, hook) > (?1, ?2) ORDER BY task, hook LIMIT ?3) d
	CROSS JOIN hooks h ON h.task = d.task AND h.id = d.hook` + headOfHook + `ORDER BY d.task, d.hook`)

	qHooksByID = prepared("SELECT " + hookColumns + ", " + columns + ` FROM tasks t
	JOIN hooks h ON h.task = t.key
	WHERE t.id = ?4 AND (h.task, h.id) > (?1, ?2) AND (?5 = 0 OR EXISTS
		(SELECT 1 FROM dead_letters d WHERE d.task = h.task AND d.hook = h.id))
	ORDER BY h.task, h.id LIMIT ?3`)
)

// Unsettled implements task.HookWork.
func (t Tasks) Unsettled(ctx context.Context, after task.HookRef, limit int) ([]task.Hooked, error) {
	found, err := t.hooked(ctx, qUnsettled, &task.HookQuery{After: after, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("unsettled hooks: %w", err)
	}
	return found, nil
}

// FindHooks implements task.HookAdmin.
func (t Tasks) FindHooks(ctx context.Context, q *task.HookQuery) ([]task.Hooked, error) {
	which := qHooks
	switch {
	case q.Task != "":
		which = qHooksByID
	case q.Dead:
		which = qHooksDead
	}
	found, err := t.hooked(ctx, which, q)
	if err != nil {
		return nil, fmt.Errorf("find hooks: %w", err)
	}
	return found, nil
}

func (t Tasks) hooked(ctx context.Context, which query, q *task.HookQuery) ([]task.Hooked, error) {
	if q.Limit <= 0 {
		return nil, fmt.Errorf("limit %d is not positive", q.Limit)
	}
	var found []task.Hooked
	err := t.db.read(ctx, func(c *conn) error {
		s := c.startRef(which, q.After)
		s.int(int64(q.Limit))
		if which == qHooksByID {
			s.id(string(q.Task))
			s.bool(q.Dead)
		}
		for s.next() {
			found = append(found, task.Hooked{Hook: getHook(&s), Head: getHead(&s)})
		}
		return s.err
	})
	return found, err
}

var (
	qAdvanceHook = prepared("UPDATE hooks SET told = ?3 WHERE task = ?1 AND id = ?2 AND told < ?3")

	// The index of unsettled hooks is updated only when necessary.
	qSettle = prepared("UPDATE hooks SET settled = 1 WHERE task = ?1 AND id = ?2 AND settled = 0")

	qLose = prepared(`INSERT INTO dead_letters (task, hook, first, last, at, attempts, reason)
	SELECT task, id, ?3, ?4, ?5, ?6, ?7 FROM hooks WHERE task = ?1 AND id = ?2
	ON CONFLICT (task, hook, first) DO UPDATE SET
	last = excluded.last, at = excluded.at, attempts = excluded.attempts, reason = excluded.reason`)
)

// Advance implements task.HookWork.
func (t Tasks) Advance(ctx context.Context, steps []task.HookStep) error {
	if len(steps) == 0 {
		return nil
	}
	mine := slices.Clone(steps)
	for i := range mine {
		if lost := mine[i].Lost; lost != nil {
			letter := *lost
			mine[i].Lost = &letter
		}
	}
	err := t.db.write(ctx, func(w *writer) error {
		for i := range mine {
			if err := w.advance(&mine[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("advance %d hooks: %w", len(steps), err)
	}
	return nil
}

// advance applies a step. It ignores a hook that does not exist.
func (w *writer) advance(step *task.HookStep) error {
	s := w.conn.startRef(qAdvanceHook, step.HookRef)
	s.int(step.Position)
	err := s.done()
	if err == nil && step.Settled {
		s = w.conn.startRef(qSettle, step.HookRef)
		err = s.done()
	}
	if err == nil && step.Lost != nil {
		err = w.lose(step.HookRef, step.Lost)
	}
	return err
}

func (w *writer) lose(ref task.HookRef, d *task.DeadLetter) error {
	s := w.conn.startRef(qLose, ref)
	s.int(d.First)
	s.int(d.Last)
	s.int(int64(d.At))
	s.int(int64(d.Attempts))
	s.text(d.Reason)
	return s.done()
}

var (
	qLetters = prepared(`SELECT first, last, at, attempts, reason FROM dead_letters
	WHERE task = ?1 AND hook = ?2 ORDER BY first LIMIT 1000`)

	qRevive = prepared(`UPDATE hooks SET settled = 0,
	told = min(told, (SELECT min(first) FROM dead_letters WHERE task = ?1 AND hook = ?2) - 1)
	WHERE task = ?1 AND id = ?2 AND EXISTS (SELECT 1 FROM dead_letters WHERE task = ?1 AND hook = ?2)`)

	qHookByRef = prepared("SELECT " + hookColumns + ", " + columns + ` FROM hooks h` + headOfHook + `
	WHERE h.task = ?1 AND h.id = ?2`)
)

// DeadLetters implements task.HookAdmin.
func (t Tasks) DeadLetters(ctx context.Context, ref task.HookRef) ([]task.DeadLetter, error) {
	var found []task.DeadLetter
	err := t.db.readOf(ctx, subject{key: ref.Task}, func(c *conn) error {
		s := c.startRef(qLetters, ref)
		for s.next() {
			found = append(found, task.DeadLetter{
				First:    s.getInt(),
				Last:     s.getInt(),
				At:       task.Millis(s.getInt()),
				Attempts: int(s.getInt()),
				Reason:   s.getText(),
			})
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("dead letters of hook %s of task %d: %w", ref.ID, ref.Task, err)
	}
	return found, nil
}

// Revive implements task.HookAdmin.
func (t Tasks) Revive(ctx context.Context, ref task.HookRef) (task.Hooked, error) {
	found, err := writeValue(ctx, t.db, func(w *writer) (*task.Hooked, error) { return w.revive(ref) })
	if err == nil && found == nil {
		err = task.ErrNotFound
	}
	if err != nil {
		return task.Hooked{}, fmt.Errorf("revive hook %s of task %d: %w", ref.ID, ref.Task, err)
	}
	return *found, nil
}

// revive returns the resulting hook, or nil if there is none.
func (w *writer) revive(ref task.HookRef) (*task.Hooked, error) {
	for _, q := range []query{qRevive, qDropLetters} {
		s := w.conn.startRef(q, ref)
		if err := s.done(); err != nil {
			return nil, err
		}
	}
	s := w.conn.startRef(qHookByRef, ref)
	if !s.next() {
		return nil, s.err
	}
	found := &task.Hooked{Hook: getHook(&s), Head: getHead(&s)}
	s.close()
	return found, s.err
}
