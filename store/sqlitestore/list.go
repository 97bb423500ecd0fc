package sqlitestore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/parley-a2a/parley/task"
)

// List returns a page as the contract of task.Index says.
func (t Tasks) List(ctx context.Context, q *task.Query) (task.ListPage, error) {
	if q.Limit <= 0 {
		return task.ListPage{}, fmt.Errorf("list tasks: limit %d is not positive", q.Limit)
	}
	var page task.ListPage
	err := t.db.view(ctx, func(c *conn) (err error) {
		if q.ContextID != "" {
			page, err = listContext(c, q)
		} else {
			page, err = listShelves(c, q)
		}
		return err
	})
	if err != nil {
		return task.ListPage{}, fmt.Errorf("list tasks: %w", err)
	}
	return page, nil
}

// A list without a context is merged from shelves: the tasks of one scope and
// state, which the index holds in order. How many shelves an owner has depends on
// how many agents it uses, not on how many tasks it has.
var (
	qShelves = prepared(`SELECT c.scope, c.state, c.n FROM owners o
	JOIN scopes s ON s.owner = o.id
	JOIN counters c ON c.scope = s.id
	WHERE o.name = ?1 AND (?2 = '' OR s.agent = ?2) AND (?3 = 0 OR c.state = ?3) AND c.n > 0`)

	qShelf = prepared(`SELECT status_at, key FROM tasks
	WHERE scope = ?1 AND state = ?2 AND shown = 0 AND status_at >= ?3 AND status_at <= ?4
	ORDER BY status_at DESC, key DESC`)

	qCountShelf = prepared(`SELECT count(*) FROM (SELECT 1 FROM tasks
	WHERE scope = ?1 AND state = ?2 AND shown = 0 AND status_at >= ?3 LIMIT ?4)`)

	qHeadByKey = prepared("SELECT " + columns + ` FROM tasks t
	JOIN owners o ON o.id = t.owner
	JOIN scopes s ON s.id = t.scope
	WHERE t.key = ?1`)
)

// counted is a shelf and how many tasks stand on it.
type counted struct {
	shelf
	n int64
}

func listShelves(c *conn, q *task.Query) (task.ListPage, error) {
	shelves, err := shelvesOf(c, q)
	if err != nil {
		return task.ListPage{}, err
	}
	total, err := countShelves(c, q, shelves)
	if err != nil {
		return task.ListPage{}, err
	}
	found, err := merge(c, q, shelves)
	if err != nil {
		return task.ListPage{}, err
	}
	page := task.ListPage{Total: total, More: len(found) > q.Limit}
	found = found[:min(len(found), q.Limit)]
	page.Heads = make([]task.Head, 0, len(found))
	for _, at := range found {
		h, err := headByKey(c, at.Key)
		if err != nil {
			return task.ListPage{}, err
		}
		page.Heads = append(page.Heads, h)
	}
	return page, nil
}

func shelvesOf(c *conn, q *task.Query) ([]counted, error) {
	s := c.start(qShelves)
	s.text(string(q.Owner))
	s.text(string(q.Agent))
	s.int(int64(q.State))
	var shelves []counted
	for s.next() {
		shelves = append(shelves, counted{
			shelf: shelf{scope: s.getInt(), state: task.State(s.getInt())},
			n:     s.getInt(),
		})
	}
	return shelves, s.err
}

func countShelves(c *conn, q *task.Query, shelves []counted) (int, error) {
	var total int64
	for _, sh := range shelves {
		n := sh.n
		if q.Since > 0 {
			s := c.start(qCountShelf)
			s.int(sh.scope)
			s.int(int64(sh.state))
			s.int(int64(q.Since))
			s.int(task.MaxTotal + 1 - total)
			var err error
			if n, err = s.only(); err != nil {
				return 0, err
			}
		}
		total += n
	}
	return int(total), nil
}

// merge returns the places of the first q.Limit tasks, and of one more if there is
// one.
func merge(c *conn, q *task.Query, shelves []counted) ([]task.Cursor, error) {
	var found []task.Cursor
	for _, sh := range shelves {
		s := c.start(qShelf)
		s.int(sh.scope)
		s.int(int64(sh.state))
		s.int(int64(q.Since))
		s.int(int64(upTo(q)))
		for s.next() {
			at := task.Cursor{At: task.Millis(s.getInt()), Key: task.Key(s.getInt())}
			if q.After != (task.Cursor{}) && compare(at, q.After) <= 0 {
				continue
			}
			i, _ := slices.BinarySearchFunc(found, at, compare)
			if i > q.Limit {
				break // all that follow on this shelf are older still
			}
			found = slices.Insert(found, i, at)
			found = found[:min(len(found), q.Limit+1)]
		}
		s.close()
		if s.err != nil {
			return nil, s.err
		}
	}
	return found, nil
}

// compare orders places as lists do: newest first.
func compare(a, b task.Cursor) int {
	return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.Key, a.Key))
}

// upTo is the newest status timestamp that q can give.
func upTo(q *task.Query) task.Millis {
	if q.After == (task.Cursor{}) {
		return math.MaxInt64
	}
	return q.After.At
}

func headByKey(c *conn, key task.Key) (task.Head, error) {
	s := c.start(qHeadByKey)
	s.int(int64(key))
	if !s.next() {
		if s.err == nil {
			s.err = fmt.Errorf("task %d is in an index only: %w", key, task.ErrCorrupt)
		}
		return task.Head{}, s.err
	}
	h := getHead(&s)
	s.close()
	return h, s.err
}
