package pgstore

import (
	"context"
	"fmt"
	"math"

	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// List implements task.Index.
func (t Tasks) List(ctx context.Context, q *task.Query) (task.ListPage, error) {
	if q.Limit <= 0 {
		return task.ListPage{}, fmt.Errorf("list tasks: limit %d must be positive", q.Limit)
	}
	if err := q.Check(); err != nil {
		return task.ListPage{}, fmt.Errorf("list tasks: %w", err)
	}
	var page task.ListPage
	err := t.db.view(ctx, func(c *conn) (err error) {
		switch {
		case q.Text != "":
			page, err = t.ListText(c, q, math.MaxInt)
		case q.IDPrefix != "":
			page, err = tables.ListIDs(c, q, math.MaxInt)
		case q.ContextID != "":
			page, err = tables.ListContext(c, q, math.MaxInt)
		default:
			page, err = listGroups(c, q)
		}
		return err
	})
	if err != nil {
		return task.ListPage{}, fmt.Errorf("list tasks: %w", err)
	}
	return page, nil
}

// A list without a context is merged from groups: the tasks of one scope and state, which the
// index holds in order. The number of an owner's groups depends on the number of its agents,
// not on that of its tasks.
const (
	ofOwner = ` FROM scopes s ` + counted + `
	WHERE s.owner = $1 AND ($2 = '' OR s.agent = $2) AND ($3 = 0 OR c.state = $3) AND c.n > 0`

	ofAll = ` FROM scopes s ` + counted + `
	WHERE $1 = 0 AND ($2 = '' OR s.agent = $2) AND ($3 = 0 OR c.state = $3) AND c.n > 0`

	// counted joins the numbers of tasks of a scope, to which each member adds in a row of its own.
	counted = "CROSS JOIN LATERAL (SELECT s.id AS scope, state, sum(n)::bigint AS n FROM counters WHERE scope = s.id GROUP BY state) c"

	// ofGroup selects the first tasks of a group.
	ofGroup = ` CROSS JOIN LATERAL (SELECT * FROM tasks
	WHERE scope = g.scope AND state = g.state AND shown = 0 AND status_at >= $4 AND (status_at, key) < ($5, $6)
	ORDER BY status_at DESC, key DESC LIMIT $7) t ORDER BY t.status_at DESC, t.key DESC LIMIT $7`

	countGroup = ` CROSS JOIN LATERAL (SELECT count(*) AS n FROM (SELECT 1 FROM tasks
	WHERE scope = g.scope AND state = g.state AND shown = 0 AND status_at >= $4 LIMIT $5) one) t`
)

func inGroups(of, then string) query {
	return prepared("SELECT " + columns + " FROM (SELECT c.scope, c.state" + of + ") g" + then)
}

var (
	qListOwner = inGroups(ofOwner, ofGroup)
	qListAll   = inGroups(ofAll, ofGroup)

	qTotalOwner = prepared("SELECT coalesce(sum(c.n), 0)::bigint" + ofOwner)
	qTotalAll   = prepared("SELECT coalesce(sum(c.n), 0)::bigint" + ofAll)

	qCountOwnerSince = prepared("SELECT coalesce(sum(t.n), 0)::bigint FROM (SELECT c.scope, c.state" + ofOwner + ") g" + countGroup)
	qCountAllSince   = prepared("SELECT coalesce(sum(t.n), 0)::bigint FROM (SELECT c.scope, c.state" + ofAll + ") g" + countGroup)
)

func listGroups(c *conn, q *task.Query) (task.ListPage, error) {
	var owner int64
	list, total, since := qListAll, qTotalAll, qCountAllSince
	if !q.AllOwners {
		var err error
		if owner, err = c.names.Owner(c, q.Owner); owner == 0 || err != nil {
			return task.ListPage{}, err
		}
		list, total, since = qListOwner, qTotalOwner, qCountOwnerSince
	}
	found, err := firstOf(c, list, q, owner)
	if err != nil {
		return task.ListPage{}, err
	}
	n, err := totalOf(c, total, since, q, owner)
	return task.ListPage{Heads: found[:min(len(found), q.Limit)], More: len(found) > q.Limit, Total: n}, err
}

func bindGroups(s *stmt, q *task.Query, owner int64) {
	s.int(owner)
	s.text(string(q.Agent))
	s.int(int64(q.State))
}

// firstOf returns the first tasks of all groups, one more than q.Limit.
func firstOf(c *conn, list query, q *task.Query, owner int64) ([]task.Head, error) {
	s := c.start(list)
	bindGroups(&s, q, owner)
	s.int(int64(q.Since))
	bindCursor(&s, q)
	s.int(int64(q.Limit) + 1)
	return listed(&s)
}

// bindCursor binds the position after which q continues.
func bindCursor(s *stmt, q *task.Query) {
	at := tables.Position(q)
	s.int(int64(at.At))
	s.int(int64(at.Key))
}

func totalOf(c *conn, total, since query, q *task.Query, owner int64) (int, error) {
	if q.Since > 0 {
		s := c.start(since)
		bindGroups(&s, q, owner)
		s.int(int64(q.Since))
		s.int(task.MaxTotal + 1)
		n, err := s.only()
		return int(min(n, task.MaxTotal+1)), err
	}
	s := c.start(total)
	bindGroups(&s, q, owner)
	n, err := s.only()
	return int(n), err
}

// The newest interrupted task of each scope and state, and the newest of them.
var qInterruptedAnywhere = prepared("SELECT " + columns + ` FROM scopes s
	CROSS JOIN (VALUES (6), (8)) AS g (state) CROSS JOIN LATERAL (SELECT * FROM tasks
	WHERE scope = s.id AND state = g.state AND shown = 0
	ORDER BY status_at DESC, key DESC LIMIT 1) t
	WHERE s.owner = $1 AND ($2 = '' OR s.agent = $2) ORDER BY t.status_at DESC, t.key DESC LIMIT 1`)

// Interrupted implements tables.TaskDB.
func (shared) Interrupted(c tables.Conn, q *task.Query, owner int64) ([]task.Head, error) {
	s := c.(*conn).start(qInterruptedAnywhere)
	s.int(owner)
	s.text(string(q.Agent))
	return heads(&s)
}
