package sqlitestore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

// ofContext selects the tasks of a context that a query lists.
const ofContext = ` FROM tasks t
	WHERE t.owner = ?1 AND t.context = ?2 AND t.shown = 0 AND t.status_at >= ?5
	AND (?3 = '' OR t.scope = (SELECT id FROM scopes WHERE owner = ?1 AND agent = ?3))
	AND (?4 = 0 OR t.state = ?4)`

var (
	qContext = prepared("SELECT " + columns + ofContext + `
	AND t.status_at <= ?6 AND NOT (t.status_at = ?6 AND t.key >= ?7)
	ORDER BY t.status_at DESC, t.key DESC LIMIT ?8`)

	// Without further filters, the index is sufficient to count.
	qCountContext = prepared("SELECT count(*) FROM tasks WHERE owner = ?1 AND context = ?2 AND shown = 0")

	qCountFiltered = prepared("SELECT count(*) FROM (SELECT 1" + ofContext + " LIMIT ?6)")
)

func bindContext(s *stmt, q *task.Query, owner int64) {
	s.int(owner)
	s.id(q.ContextID)
	s.text(string(q.Agent))
	s.int(int64(q.State))
	s.int(int64(q.Since))
}

func listContext(c *conn, q *task.Query) (task.ListPage, error) {
	owner, err := c.owner(q.Owner)
	if owner == 0 || err != nil {
		return task.ListPage{}, err
	}
	s := c.start(qContext)
	bindContext(&s, q, owner)
	s.int(int64(upTo(q)))
	s.int(int64(q.After.Key))
	s.int(int64(q.Limit) + 1)
	found, more, err := firstHeads(&s)
	if err != nil {
		return task.ListPage{}, err
	}
	total, err := countContext(c, q, owner)
	return task.ListPage{
		Heads: found[:min(len(found), q.Limit)],
		More:  more || len(found) > q.Limit,
		Total: total,
	}, err
}

func countContext(c *conn, q *task.Query, owner int64) (int, error) {
	var s stmt
	switch {
	case q.Agent == "" && q.State == task.Unspecified && q.Since == 0:
		s = c.start(qCountContext)
		s.int(owner)
		s.id(q.ContextID)
	case q.Since > 0:
		s = c.start(qCountFiltered)
		bindContext(&s, q, owner)
		s.int(task.MaxTotal + 1)
	default:
		s = c.start(qCountFiltered)
		bindContext(&s, q, owner)
		s.int(-1)
	}
	n, err := s.only()
	return int(n), err
}

// Without the hint, SQLite would read all tasks of the context.
var qInterrupted = prepared("SELECT " + columns + ` FROM scopes s
	JOIN tasks t INDEXED BY tasks_interrupted ON t.scope = s.id AND t.context = ?2 AND t.state IN (6, 8)
	WHERE s.owner = ?1 AND (?3 = '' OR s.agent = ?3) AND t.shown = 0
	ORDER BY t.status_at DESC, t.key DESC LIMIT 1`)

// Interrupted implements task.Index. Without a context in q it searches all contexts.
func (t Tasks) Interrupted(ctx context.Context, q *task.Query) (task.Head, error) {
	var found []task.Head
	err := t.db.view(ctx, func(c *conn) error {
		owner, err := c.owner(q.Owner)
		if owner == 0 || err != nil {
			return err
		}
		if q.ContextID == "" {
			found, err = interruptedAnywhere(c, q, owner)
			return err
		}
		s := c.start(qInterrupted)
		s.int(owner)
		s.id(q.ContextID)
		s.text(string(q.Agent))
		found, err = heads(&s)
		return err
	})
	if err == nil && len(found) == 0 {
		err = task.ErrNotFound
	}
	if err != nil {
		return task.Head{}, fmt.Errorf("interrupted task of context %q: %w", q.ContextID, err)
	}
	return found[0], nil
}

// interruptedAnywhere returns the newest interrupted task of an owner.
func interruptedAnywhere(c *conn, q *task.Query, owner int64) ([]task.Head, error) {
	var groups []countedGroup
	one := task.Query{Agent: q.Agent, Limit: 1}
	for _, one.State = range []task.State{task.InputRequired, task.AuthRequired} {
		more, err := groupsOf(c, &one, owner)
		if err != nil {
			return nil, err
		}
		groups = append(groups, more...)
	}
	page, err := merge(c, &one, groups)
	return page.Heads, err
}
