package tables

import (
	"context"
	"fmt"
	"math"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
)

// ofContext selects the tasks of a context that a query lists.
const ofContext = ` FROM tasks t
	WHERE t.owner = $1 AND t.context = $2 AND t.shown = 0 AND t.status_at >= $5
	AND ($3 = '' OR t.scope = (SELECT id FROM scopes WHERE owner = $1 AND agent = $3))
	AND ($4 = 0 OR t.state = $4)`

var (
	qContext = prepared("SELECT " + HeadColumns + ofContext + `
	/*sqlite AND t.status_at <= $6 AND NOT (t.status_at = $6 AND t.key >= $7)*/
	/*postgres{*/ AND (t.status_at, t.key) < ($6, $7) /*}*/
	ORDER BY t.status_at DESC, t.key DESC LIMIT $8`)

	// Without further filters, the index is sufficient to count.
	qCountContext = prepared("SELECT count(*) FROM tasks WHERE owner = $1 AND context = $2 AND shown = 0")

	qCountFiltered = prepared("SELECT count(*) FROM (SELECT 1" + ofContext + " LIMIT $6) /*postgres{*/ AS found /*}*/")
)

// ListContext lists the tasks of a context. The page ends after messages of most bytes.
func ListContext(c Conn, q *task.Query, most int) (task.ListPage, error) {
	owner, err := c.Names().Owner(c, q.Owner)
	if owner == 0 || err != nil {
		return task.ListPage{}, err
	}
	at := Position(q)
	values := []any{
		owner,
		ID{Value: q.ContextID},
		string(q.Agent), int64(q.State), int64(q.Since),
		int64(at.At), int64(at.Key), int64(q.Limit + 1),
	}
	total, err := countContext(c, q, values[:5:5])
	if err != nil || total == 0 {
		return task.ListPage{}, err
	}
	size := pageSize{bytes: most, rows: min(int(total), q.Limit+1)}
	found, more, err := firstHeads(c, size, qContext, values...)
	if err != nil {
		return task.ListPage{}, err
	}
	return task.ListPage{
		Heads: found[:min(len(found), q.Limit)],
		More:  more || len(found) > q.Limit,
		Total: int(total),
	}, nil
}

// Position returns the position after which q continues.
func Position(q *task.Query) task.Cursor {
	if q.After == (task.Cursor{}) {
		return task.Cursor{At: math.MaxInt64, Key: math.MaxInt64}
	}
	return q.After
}

func countContext(c Conn, q *task.Query, values []any) (int64, error) {
	if q.Agent == "" && q.State == task.Unspecified && q.Since == 0 {
		return only(c, qCountContext, values[:2]...)
	}
	most := int64(math.MaxInt64)
	if q.Since > 0 {
		most = task.MaxTotal + 1
	}
	return only(c, qCountFiltered, append(values, most)...)
}

// pageSize is the size of the messages in a page, in bytes, after which it ends, and the largest number
// of its rows; zero if that is not known.
type pageSize struct{ bytes, rows int }

// firstHeads returns the heads of all rows, or the first ones if their messages exceed the size. It
// reports whether further rows follow.
func firstHeads(c Conn, size pageSize, q Query, values ...any) (all []task.Head, more bool, err error) {
	all = make([]task.Head, 0, size.rows)
	for row, err := range c.Rows(q, values...) {
		if err != nil {
			return nil, false, err
		}
		if size.bytes < 0 {
			return all, true, nil
		}
		all = append(all, task.Head{})
		h := &all[len(all)-1]
		if err := scanListed(row, h); err != nil {
			return nil, false, err
		}
		size.bytes -= len(h.StatusMessage)
	}
	return all, false, nil
}

// With PostgreSQL it reads the newest interrupted task of each scope, and SQLite, which knows no LATERAL, those
// of the context: without the hint, it would read all tasks of the context.
var qInterrupted = prepared("SELECT " + HeadColumns + ` FROM scopes s
	/*sqlite JOIN tasks t INDEXED BY tasks_interrupted ON t.scope = s.id AND t.context = $2 AND t.state IN (6, 8) AND t.shown = 0*/
	/*postgres{*/ CROSS JOIN LATERAL (SELECT * FROM tasks
	WHERE scope = s.id AND context = $2 AND state IN (6, 8) AND shown = 0
	ORDER BY status_at DESC, key DESC LIMIT 1) t /*}*/
	WHERE s.owner = $1 AND ($3 = '' OR s.agent = $3) ORDER BY t.status_at DESC, t.key DESC LIMIT 1`)

// Interrupted implements task.Index. Without a context in q it searches all contexts.
func (t Tasks) Interrupted(ctx context.Context, q *task.Query) (task.Head, error) {
	var found []task.Head
	err := t.DB.View(ctx, func(c Conn) error {
		owner, err := c.Names().Owner(c, q.Owner)
		switch {
		case owner == 0 || err != nil:
			return err
		case q.ContextID == "":
			found, err = t.DB.Interrupted(c, q, owner)
		default:
			found, err = rows(c, scanHead, qInterrupted, owner, ID{Value: q.ContextID}, q.Agent)
		}
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

var (
	qIDs = prepared("SELECT " + HeadColumns + ` FROM tasks t
	WHERE (t.id, t.owner) > ($1, $2) AND t.id <= $3 AND t.shown = 0
	AND ($4 = 0 OR t.owner = $4) AND ($5 = 0 OR t.state = $5)
	AND ($6 = '' OR (SELECT s.agent FROM scopes s WHERE s.id = t.scope) = $6)
	ORDER BY t.id, t.owner LIMIT $7`)

	qPlaceOfKey = prepared("SELECT t.id, t.owner FROM tasks t WHERE t.key = $1")
)

// ListIDs lists the tasks whose ids have a prefix. The page ends after messages of most bytes.
func ListIDs(c Conn, q *task.Query, most int) (task.ListPage, error) {
	var owner int64
	if !q.AllOwners {
		var err error
		if owner, err = c.Names().Owner(c, q.Owner); owner == 0 || err != nil {
			return task.ListPage{}, err
		}
	}
	ranges, err := rangesAfter(c, q)
	if err != nil {
		return task.ListPage{}, err
	}
	return sqlstore.ListIDs(ranges, q.Limit, func(r *sqlstore.IDRange, limit int) ([]task.Head, bool, error) {
		// A prefix that is a whole UUID begins a range of texts, too.
		first, last := ID{r.First, !r.UUIDs}, ID{r.Last, !r.UUIDs}
		return firstHeads(c, pageSize{bytes: most}, qIDs, first, r.Owner, last, owner, int64(q.State), q.Agent, limit)
	})
}

// rangesAfter returns the ranges of a query that follow its position.
func rangesAfter(c Conn, q *task.Query) ([]sqlstore.IDRange, error) {
	if q.After.Key == 0 {
		return sqlstore.IDRanges(q.IDPrefix), nil
	}
	at, found, err := one(c, scanPlace, qPlaceOfKey, q.After.Key)
	if err == nil && !found {
		err = fmt.Errorf("continue after task %d: %w", q.After.Key, task.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return sqlstore.IDRangesAfter(q.IDPrefix, at.id, at.owner), nil
}

// idPlace is the position of a task in lists of ids.
type idPlace struct {
	id    string
	owner int64
}

func scanPlace(row Row, p *idPlace) error {
	p.id, p.owner = row.(TaskRow).ID(), row.Int()
	return nil
}
