package pgstore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

var (
	qDue = prepared("SELECT " + columns + ` FROM tasks t
	WHERE t.due = 1 AND t.key > $1 ORDER BY t.key LIMIT $2`)

	// The first inner statement needs only the index, and excludes most active contexts. A task
	// without a context is alone.
	qStale = prepared("SELECT " + columns + ` FROM tasks t
	WHERE t.state IN (6, 8) AND t.status_at < $1 AND t.ended = 0 AND t.dispatch = 0 AND t.updated_at < $1
	AND NOT EXISTS (SELECT 1 FROM tasks u WHERE t.context <> ''
		AND u.owner = t.owner AND u.context = t.context AND u.shown IN (0, 1, 2) AND u.status_at >= $1)
	AND NOT EXISTS (SELECT 1 FROM tasks u WHERE t.context <> ''
		AND u.owner = t.owner AND u.context = t.context AND u.updated_at >= $1)
	ORDER BY t.status_at LIMIT $2`)
)

// Due implements task.Work.
func (t Tasks) Due(ctx context.Context, after task.Key, limit int) ([]task.Head, error) {
	found, err := t.some(ctx, limit, qDue, int64(after))
	if err != nil {
		return nil, fmt.Errorf("due tasks: %w", err)
	}
	return found, nil
}

// Stale implements task.Work. It returns the tasks with the oldest status first.
func (t Tasks) Stale(ctx context.Context, before task.Millis, limit int) ([]task.Head, error) {
	found, err := t.some(ctx, limit, qStale, int64(before))
	if err != nil {
		return nil, fmt.Errorf("stale tasks: %w", err)
	}
	return found, nil
}

// some returns up to limit heads that q returns for the value from.
func (t Tasks) some(ctx context.Context, limit int, q query, from int64) ([]task.Head, error) {
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

// The counters name the groups of an owner that have tasks, and the index of lists has each of them.
var qAtWork = prepared(`SELECT count(*) FROM (SELECT 1 FROM scopes s JOIN counters c ON c.scope = s.id
	JOIN tasks t ON t.scope = c.scope AND t.state = c.state
	WHERE s.owner = $1 AND c.state IN (1, 2) AND c.n > 0 AND t.shown = 0 AND t.dispatch <> 0 AND t.holder <> $2 LIMIT $3) one`)

// AtWork implements engine.Heads.
func (t Tasks) AtWork(ctx context.Context, owner task.Owner, own task.Holder, limit int) (n int, err error) {
	err = t.db.read(ctx, func(c *conn) error {
		id, err := c.owner(owner)
		if id == 0 || err != nil {
			return err
		}
		s := c.start(qAtWork)
		s.int(id)
		s.text(string(own))
		s.int(int64(limit))
		got, err := s.only()
		n = int(got)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("tasks at work: %w", err)
	}
	return n, nil
}

var qRevs = prepared("SELECT key, rev FROM tasks WHERE key = ANY ($1)")

// Revs implements engine.Heads.
func (t Tasks) Revs(ctx context.Context, keys []task.Key) (map[task.Key]int64, error) {
	all := make([]int64, len(keys))
	for i, key := range keys {
		all[i] = int64(key)
	}
	revs := make(map[task.Key]int64, len(keys))
	err := t.db.read(ctx, func(c *conn) error {
		s := c.start(qRevs)
		s.ints(all)
		for s.next() {
			key := task.Key(s.getInt())
			revs[key] = s.getInt()
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("revisions: %w", err)
	}
	return revs, nil
}
