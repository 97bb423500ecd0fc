package sqlitestore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/parley-a2a/parley/task"
)

// List implements task.Index.
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

// A list without a context is merged from shelves: the tasks of one scope and state, which the
// index holds in order. The number of an owner's shelves depends on the number of its agents,
// not on that of its tasks.
var (
	qShelves = prepared(`SELECT c.scope, c.state, c.n FROM scopes s
	JOIN counters c ON c.scope = s.id
	WHERE s.owner = ?1 AND (?2 = '' OR s.agent = ?2) AND (?3 = 0 OR c.state = ?3) AND c.n > 0`)

	qCountShelf = prepared(`SELECT count(*) FROM (SELECT 1 FROM tasks
	WHERE scope = ?1 AND state = ?2 AND shown = 0 AND status_at >= ?3 LIMIT ?4)`)

	// qShelf contains the same statement several times, for shelves that are read concurrently.
	// The comment makes the texts differ, because equal texts would be one statement.
	qShelf = func() (qs [8]query) {
		for i := range qs {
			qs[i] = prepared(fmt.Sprintf("SELECT /* %d */ ", i) + columns + ` FROM tasks t
	WHERE t.scope = ?1 AND t.state = ?2 AND t.shown = 0 AND t.status_at >= ?3 AND t.status_at <= ?4
	AND NOT (t.status_at = ?4 AND t.key >= ?5)
	ORDER BY t.status_at DESC, t.key DESC`)
		}
		return qs
	}()
)

// counted is a shelf with the number of its tasks.
type counted struct {
	shelf
	n int64
}

func listShelves(c *conn, q *task.Query) (task.ListPage, error) {
	owner, err := c.owner(q.Owner)
	if owner == 0 || err != nil {
		return task.ListPage{}, err
	}
	shelves, err := shelvesOf(c, q, owner)
	if err != nil {
		return task.ListPage{}, err
	}
	total, err := countShelves(c, q, shelves)
	if err != nil {
		return task.ListPage{}, err
	}
	page, err := merge(c, q, shelves)
	page.Total = total
	return page, err
}

func shelvesOf(c *conn, q *task.Query, owner int64) ([]counted, error) {
	s := c.start(qShelves)
	s.int(owner)
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

// merge returns the first q.Limit tasks of all shelves, in order. It reads as many shelves at
// once as there are statements for them.
func merge(c *conn, q *task.Query, shelves []counted) (task.ListPage, error) {
	var page task.ListPage
	for some := range slices.Chunk(shelves, len(qShelf)) {
		more, err := mergeSome(c, q, some)
		if err != nil {
			return task.ListPage{}, err
		}
		if page.Heads == nil {
			page = more
			continue
		}
		page.Heads = append(page.Heads, more.Heads...)
		slices.SortFunc(page.Heads, func(a, b task.Head) int { return compare(listed(&a), listed(&b)) })
		page.More = page.More || more.More || len(page.Heads) > q.Limit
		page.Heads = page.Heads[:min(len(page.Heads), q.Limit)]
	}
	return page, nil
}

// lane is a shelf that is being read, with a current row that was not merged yet.
type lane struct {
	stmt
	at   task.Cursor
	more bool
}

func (l *lane) advance() {
	if l.more = l.next(); l.more {
		l.at = getPlace(&l.stmt)
	}
}

// mergeSome merges the rows of all lanes.
func mergeSome(c *conn, q *task.Query, shelves []counted) (page task.ListPage, err error) {
	var room [len(qShelf)]lane
	lanes := room[:len(shelves)]
	most := int64(0)
	for i, sh := range shelves {
		lanes[i].stmt = c.start(qShelf[i])
		bindShelf(&lanes[i].stmt, q, sh.shelf)
		lanes[i].advance()
		most += sh.n
	}
	page.Heads = make([]task.Head, 0, min(int64(q.Limit), most))
	for {
		first := newest(lanes)
		if page.More = first != nil && len(page.Heads) == q.Limit; first == nil || page.More {
			break
		}
		page.Heads = append(page.Heads, getHead(&first.stmt))
		first.advance()
	}
	for i := range lanes {
		if lanes[i].more {
			lanes[i].close()
		}
		if err == nil {
			err = lanes[i].err
		}
	}
	return page, err
}

func bindShelf(s *stmt, q *task.Query, sh shelf) {
	s.int(sh.scope)
	s.int(int64(sh.state))
	s.int(int64(q.Since))
	s.int(int64(upTo(q)))
	s.int(int64(q.After.Key))
}

// newest returns the lane whose row comes first, or nil if all have ended.
func newest(lanes []lane) *lane {
	var first *lane
	for i := range lanes {
		l := &lanes[i]
		if l.more && (first == nil || compare(l.at, first.at) < 0) {
			first = l
		}
	}
	return first
}

func listed(h *task.Head) task.Cursor { return task.Cursor{At: h.StatusAt, Key: h.Key} }

// compare orders positions like lists: newest first.
func compare(a, b task.Cursor) int {
	return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.Key, a.Key))
}

// upTo returns the newest status timestamp that q may return.
func upTo(q *task.Query) task.Millis {
	if q.After == (task.Cursor{}) {
		return math.MaxInt64
	}
	return q.After.At
}
