package sqlitestore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

const allTasks = ` FROM tasks t
	JOIN owners o ON o.id = t.owner
	JOIN scopes s ON s.id = t.scope`

var (
	qDue = prepared("SELECT " + columns + allTasks + `
	WHERE t.due = 1 AND t.key > ?1 ORDER BY t.key LIMIT ?2`)

	// The first inner statement needs the index alone, and rules out most contexts
	// that go on. A task without a context is alone.
	qStale = prepared("SELECT " + columns + allTasks + `
	WHERE t.state IN (6, 8) AND t.status_at < ?1 AND t.ended = 0 AND t.dispatch = 0
	AND t.updated_at < ?1
	AND NOT EXISTS (SELECT 1 FROM tasks u WHERE t.context <> ''
		AND u.owner = t.owner AND u.context = t.context AND u.shown IN (0, 1, 2) AND u.status_at >= ?1)
	AND NOT EXISTS (SELECT 1 FROM tasks u WHERE t.context <> ''
		AND u.owner = t.owner AND u.context = t.context AND u.updated_at >= ?1)
	ORDER BY t.status_at LIMIT ?2`)
)

// Due returns heads as the contract of task.Work says.
func (t Tasks) Due(ctx context.Context, after task.Key, limit int) ([]task.Head, error) {
	found, err := t.some(ctx, qDue, int64(after), limit)
	if err != nil {
		return nil, fmt.Errorf("due tasks: %w", err)
	}
	return found, nil
}

// Stale returns heads as the contract of task.Work says, the longest silent first.
func (t Tasks) Stale(ctx context.Context, before task.Millis, limit int) ([]task.Head, error) {
	found, err := t.some(ctx, qStale, int64(before), limit)
	if err != nil {
		return nil, fmt.Errorf("stale tasks: %w", err)
	}
	return found, nil
}

// some returns up to limit heads that q gives for the value from.
func (t Tasks) some(ctx context.Context, q query, from int64, limit int) ([]task.Head, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("limit %d is not positive", limit)
	}
	var found []task.Head
	err := t.db.read(ctx, func(c *conn) (err error) {
		s := c.start(q)
		s.int(from)
		s.int(int64(limit))
		found, err = heads(&s)
		return err
	})
	return found, err
}

var qProbe = prepared("UPDATE sequence SET probes = probes + 1 WHERE one = 1")

// Probe commits a small change. It implements task.Prober.
func (t Tasks) Probe(ctx context.Context) error {
	err := t.db.write(ctx, func(w *writer) error { return w.conn.run(qProbe) })
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	return nil
}
