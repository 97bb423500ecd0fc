package tables

import (
	"context"
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
)

var (
	_ task.Hooks     = Tasks{}
	_ task.HookWork  = Tasks{}
	_ task.HookAdmin = Tasks{}
)

// hookColumns are the columns of a hook, in the order in which scanHook reads them.
const hookColumns = `h.task, h.id, h.url, h.dialect, h.scheme, h.secret, h.created_at, h.delivered, h.settled`

// headOfHook joins the head of a hook's task. The hooks are found first, in order.
const headOfHook = ` /*sqlite CROSS*/ JOIN tasks t ON t.key = h.task `

var (
	qPutHook = prepared(`INSERT INTO hooks (task, id, url, dialect, scheme, secret, created_at, delivered, settled)
	SELECT key, $2, $3, $4, $5, $6, $7, $8, $9 FROM tasks WHERE key = $1 /*postgres{*/ FOR KEY SHARE /*}*/
	ON CONFLICT (task, id) DO UPDATE SET url = excluded.url, dialect = excluded.dialect, scheme = excluded.scheme,
	secret = excluded.secret, created_at = excluded.created_at, delivered = excluded.delivered, settled = excluded.settled`)

	qDropHook    = prepared("DELETE FROM hooks WHERE task = $1 AND id = $2")
	qDropLetters = prepared("DELETE FROM dead_letters WHERE task = $1 AND hook = $2")

	qHooksOfTask = prepared("SELECT " + hookColumns + ` FROM hooks h
	WHERE h.task = $1 AND h.id > $2 ORDER BY h.id LIMIT $3`)
)

func hookValues(h *task.Hook) []any {
	settled := int64(0)
	if h.Settled {
		settled = 1
	}
	return []any{h.Task, h.ID, h.URL, int64(h.Dialect), h.Scheme, h.Secret, h.CreatedAt, h.Position, settled}
}

func scanHook(row Row, h *task.Hook) error {
	var dialect, settled int64
	scan(row, &h.Task, &h.ID, &h.URL, &dialect, &h.Scheme, &h.Secret, &h.CreatedAt, &h.Position, &settled)
	h.Dialect, h.Settled = uint8(dialect), settled != 0
	return nil
}

func scanHooked(row Row, h *task.Hooked) error {
	_ = scanHook(row, &h.Hook)
	return scanListed(row, &h.Head)
}

// PutHook implements task.Hooks.
func (t Tasks) PutHook(ctx context.Context, h *task.Hook) error {
	err := task.ErrHookID
	if h.ID != "" {
		err = t.put(ctx, sqlstore.OwnHook(h))
	}
	if err != nil {
		return fmt.Errorf("put hook %s of task %d: %w", h.ID, h.Task, err)
	}
	return nil
}

func (t Tasks) put(ctx context.Context, h *task.Hook) error {
	stored, err := resultOf(ctx, t.DB.Write, func(c Conn) (int, error) {
		n, err := c.Changed(qPutHook, hookValues(h)...)
		if err != nil || n == 0 {
			return 0, err
		}
		return n, c.Exec(qDropLetters, h.Task, h.ID)
	})
	if err == nil && stored == 0 {
		err = task.ErrNotFound
	}
	return err
}

// SendHook stores h, whose task exists, in a transaction of c.
func SendHook(c Execer, h *task.Hook) error {
	if err := c.Exec(qPutHook, hookValues(h)...); err != nil {
		return err
	}
	return c.Exec(qDropLetters, h.Task, h.ID)
}

// Hooks implements task.Hooks.
func (t Tasks) Hooks(ctx context.Context, key task.Key, after string, limit int) (found []task.Hook, err error) {
	if limit <= 0 {
		return nil, fmt.Errorf("hooks of task %d: limit %d must be positive", key, limit)
	}
	err = t.DB.ReadOf(ctx, key, func(c Conn) (err error) {
		found, err = rows(c, scanHook, qHooksOfTask, key, after, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("hooks of task %d: %w", key, err)
	}
	return found, nil
}

// DropHook implements task.Hooks.
func (t Tasks) DropHook(ctx context.Context, ref task.HookRef) error {
	err := t.DB.Write(ctx, func(c Conn) error { return execRef(c, ref, qDropHook, qDropLetters) })
	if err != nil {
		return fmt.Errorf("drop hook %s of task %d: %w", ref.ID, ref.Task, err)
	}
	return nil
}

// execRef executes statements whose values are ref.
func execRef(c Execer, ref task.HookRef, queries ...Query) error {
	for _, q := range queries {
		if err := c.Exec(q, ref.Task, ref.ID); err != nil {
			return err
		}
	}
	return nil
}

// Each of these statements returns the hooks above a ref, and ends with a limit.
var (
	qUnsettled = prepared("SELECT " + hookColumns + ", " + HeadColumns + ` FROM hooks h /*sqlite INDEXED BY hooks_unsettled*/` + headOfHook + `
	WHERE h.settled = 0 AND (h.task, h.id) > ($1, $2) ORDER BY h.task, h.id LIMIT $3`)

	qHooks = prepared("SELECT " + hookColumns + ", " + HeadColumns + ` FROM hooks h` + headOfHook + `
	WHERE (h.task, h.id) > ($1, $2) ORDER BY h.task, h.id LIMIT $3`)

	// Every dead letter has a hook, so the inner limit is sufficient.
	qHooksDead = prepared("SELECT " + hookColumns + ", " + HeadColumns + ` FROM
	(SELECT DISTINCT task, hook FROM dead_letters WHERE (task, hook) > ($1, $2) ORDER BY task, hook LIMIT $3) d
	/*sqlite CROSS*/ JOIN hooks h ON h.task = d.task AND h.id = d.hook` + headOfHook + `ORDER BY d.task, d.hook`)

	qHooksByID = prepared("SELECT " + hookColumns + ", " + HeadColumns + ` FROM tasks t
	JOIN hooks h ON h.task = t.key
	WHERE t.id = $4 AND (h.task, h.id) > ($1, $2) AND ($5 = 0 OR EXISTS
		(SELECT 1 FROM dead_letters d WHERE d.task = h.task AND d.hook = h.id))
	ORDER BY h.task, h.id LIMIT $3`)
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

func (t Tasks) hooked(ctx context.Context, which Query, q *task.HookQuery) ([]task.Hooked, error) {
	if q.Limit <= 0 {
		return nil, fmt.Errorf("limit %d must be positive", q.Limit)
	}
	values := []any{q.After.Task, q.After.ID, q.Limit}
	if which == qHooksByID {
		dead := 0
		if q.Dead {
			dead = 1
		}
		values = append(values, ID{Value: string(q.Task)}, dead)
	}
	return list(ctx, t.DB, scanHooked, which, values...)
}

var (
	qAdvanceHook = prepared("UPDATE hooks SET delivered = $3 WHERE task = $1 AND id = $2 AND delivered < $3")

	// The index of unsettled hooks is updated only when necessary.
	qSettle = prepared("UPDATE hooks SET settled = 1 WHERE task = $1 AND id = $2 AND settled = 0")

	qLose = prepared(`INSERT INTO dead_letters (task, hook, first, last, at, attempts, reason)
	SELECT task, id, $3, $4, $5, $6, $7 FROM hooks WHERE task = $1 AND id = $2
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
	err := t.DB.Write(ctx, func(c Conn) error {
		for i := range mine {
			if err := advance(c, &mine[i]); err != nil {
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
func advance(c Conn, step *task.HookStep) error {
	err := c.Exec(qAdvanceHook, step.Task, step.ID, step.Position)
	if err == nil && step.Settled {
		err = c.Exec(qSettle, step.Task, step.ID)
	}
	if err == nil && step.Lost != nil {
		err = c.Exec(qLose, append([]any{step.Task, step.ID}, deadFields(step.Lost)...)...)
	}
	return err
}

var (
	qHookLetters = prepared(`SELECT first, last, at, attempts, reason FROM dead_letters
	WHERE task = $1 AND hook = $2 ORDER BY first LIMIT 1000`)

	qRevive = prepared(`UPDATE hooks SET settled = 0, delivered = (SELECT CASE WHEN hooks.delivered < min(first) THEN hooks.delivered ELSE min(first) - 1 END
	FROM dead_letters WHERE task = $1 AND hook = $2)
	WHERE task = $1 AND id = $2 AND EXISTS (SELECT 1 FROM dead_letters WHERE task = $1 AND hook = $2)`)

	qHookByRef = prepared("SELECT " + hookColumns + ", " + HeadColumns + ` FROM hooks h` + headOfHook + `
	WHERE h.task = $1 AND h.id = $2`)
)

func deadFields(d *task.DeadLetter) []any {
	return []any{&d.First, &d.Last, &d.At, &d.Attempts, &d.Reason}
}

// DeadLetters implements task.HookAdmin.
func (t Tasks) DeadLetters(ctx context.Context, ref task.HookRef) (found []task.DeadLetter, err error) {
	err = t.DB.ReadOf(ctx, ref.Task, func(c Conn) (err error) {
		found, err = rows(c, fields(deadFields), qHookLetters, ref.Task, ref.ID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("dead letters of hook %s of task %d: %w", ref.ID, ref.Task, err)
	}
	return found, nil
}

// Revive implements task.HookAdmin.
func (t Tasks) Revive(ctx context.Context, ref task.HookRef) (task.Hooked, error) {
	found, err := resultOf(ctx, t.DB.WriteAlone, func(c Conn) ([]task.Hooked, error) {
		if err := execRef(c, ref, qRevive, qDropLetters); err != nil {
			return nil, err
		}
		return rows(c, scanHooked, qHookByRef, ref.Task, ref.ID)
	})
	if err == nil && len(found) == 0 {
		err = task.ErrNotFound
	}
	if err != nil {
		return task.Hooked{}, fmt.Errorf("revive hook %s of task %d: %w", ref.ID, ref.Task, err)
	}
	return found[0], nil
}
