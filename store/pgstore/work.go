package pgstore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/task"
)

// The counters name the groups of an owner that have tasks, and the index of lists has each of them.
var qAtWork = prepared(`SELECT count(*) FROM (SELECT 1 FROM scopes s ` + counted + `
	JOIN tasks t ON t.scope = c.scope AND t.state = c.state
	WHERE s.owner = $1 AND c.state IN (1, 2) AND c.n > 0 AND t.shown = 0 AND t.dispatch <> 0 AND t.holder <> $2 LIMIT $3) one`)

// AtWork implements engine.Heads.
func (t Tasks) AtWork(ctx context.Context, owner task.Owner, own task.Holder, limit int) (n int, err error) {
	err = t.db.read(ctx, func(c *conn) error {
		id, err := c.names.Owner(c, owner)
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
			key := task.Key(s.Int())
			revs[key] = s.Int()
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("revisions: %w", err)
	}
	return revs, nil
}
