package sqlitestore

import (
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/task"
)

var (
	qIDs = prepared("SELECT " + columns + ` FROM tasks t
	WHERE (t.id, t.owner) > (?1, ?2) AND t.id <= ?3 AND t.shown = 0
	AND (?4 = 0 OR t.owner = ?4) AND (?5 = 0 OR t.state = ?5)
	AND (?6 = '' OR (SELECT s.agent FROM scopes s WHERE s.id = t.scope) = ?6)
	ORDER BY t.id, t.owner LIMIT ?7`)

	qPlaceOfKey = prepared("SELECT t.id, t.owner FROM tasks t WHERE t.key = ?")
)

// listIDs lists the tasks whose ids have a prefix.
func listIDs(c *conn, q *task.Query) (task.ListPage, error) {
	var owner int64
	if !q.AllOwners {
		var err error
		if owner, err = c.owner(q.Owner); owner == 0 || err != nil {
			return task.ListPage{}, err
		}
	}
	ranges, err := rangesAfter(c, q)
	if err != nil {
		return task.ListPage{}, err
	}
	return sqlstore.ListIDs(ranges, q.Limit, func(r *sqlstore.IDRange, limit int) ([]task.Head, bool, error) {
		s := c.start(qIDs)
		bindEnd(&s, r, r.First)
		s.int(r.Owner)
		bindEnd(&s, r, r.Last)
		s.int(owner)
		s.int(int64(q.State))
		s.text(string(q.Agent))
		s.int(int64(limit))
		return firstHeads(&s)
	})
}

// bindEnd binds an end of a range. A prefix that is a whole UUID begins a range of texts, too.
func bindEnd(s *stmt, r *sqlstore.IDRange, v string) {
	if r.UUIDs {
		s.id(v)
		return
	}
	s.text(v)
}

// rangesAfter returns the ranges of a query that follow its position.
func rangesAfter(c *conn, q *task.Query) ([]sqlstore.IDRange, error) {
	if q.After.Key == 0 {
		return sqlstore.IDRanges(q.IDPrefix), nil
	}
	s := c.start(qPlaceOfKey)
	s.int(int64(q.After.Key))
	if !s.next() {
		if s.err != nil {
			return nil, s.err
		}
		return nil, fmt.Errorf("continue after task %d: %w", q.After.Key, task.ErrNotFound)
	}
	id, owner := s.getID(), s.getInt()
	s.close()
	return sqlstore.IDRangesAfter(q.IDPrefix, id, owner), s.err
}
