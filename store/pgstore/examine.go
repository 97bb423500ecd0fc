package pgstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// Examined counts the data that Examine has read.
type Examined struct {
	Tasks, Entries int64
	// Parts is the number of intact large parts.
	Parts int
}

// Examine reads the tasks and large parts in the database at address as of one moment, and reports
// those that are damaged or disagree with each other. It changes nothing, and hubs may use the
// database meanwhile. The error wraps ErrNewer, ErrForeign or task.ErrUnavailable if the database
// cannot be examined.
func Examine(ctx context.Context, address string, report func(problem string)) (n Examined, err error) {
	c, err := alone(ctx, address, false)
	if err != nil {
		return n, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.raw.Conn().Close() })
	defer stop()
	x := &examiner{conn: c, report: report}
	if err = x.all(ctx); err != nil {
		err = fmt.Errorf("examine the database: %w", unavailable(err))
	}
	_ = c.close() // the transaction has written nothing
	return x.n, errors.Join(context.Cause(ctx), err)
}

type examiner struct {
	conn   *conn
	report func(string)
	n      Examined
}

func (x *examiner) all(ctx context.Context) error {
	have, known, err := inspect(ctx, x.conn, "SET LOCAL enable_seqscan = on")
	if err == nil {
		err = survives(ctx, x.conn, have, known)
	}
	if err != nil {
		return err
	}
	for _, f := range []func(context.Context) error{x.sums, x.tasks, x.beside, x.parts} {
		if err := f(ctx); err != nil {
			return err
		}
	}
	return nil
}

// disagreements are queries that count rows that disagree.
var disagreements = []struct{ text, query string }{
	{"counters of tasks are wrong", `SELECT count(*) FROM
		(SELECT scope, state, count(*) AS n FROM tasks WHERE shown = 0 GROUP BY 1, 2) t
		FULL JOIN (SELECT scope, state, sum(n) AS n FROM counters GROUP BY 1, 2 HAVING sum(n) <> 0) c USING (scope, state) WHERE t.n IS DISTINCT FROM c.n`},
	{"rows of logs belong to no task", `SELECT count(*) FROM entries e WHERE NOT EXISTS (SELECT FROM tasks WHERE key = e.place >> 24)
		AND NOT EXISTS (SELECT FROM doomed WHERE task = e.place >> 24)`},
	{"tasks have keys that are not given out yet", "SELECT count(*) FROM tasks WHERE key >= (SELECT next_key FROM " + nextKey + ")"},
	{"tasks have no owner or agent", "SELECT count(*) FROM tasks t WHERE NOT EXISTS (SELECT FROM scopes s JOIN owners o ON o.id = s.owner WHERE s.id = t.scope)"},
	{"webhooks belong to no task", "SELECT count(*) FROM hooks h WHERE NOT EXISTS (SELECT FROM tasks WHERE key = h.task)"},
	{"aliases belong to no task", "SELECT count(*) FROM messages m WHERE NOT EXISTS (SELECT FROM tasks WHERE key = m.task)"},
	{"keyed requests belong to no task", "SELECT count(*) FROM requests r WHERE NOT EXISTS (SELECT FROM tasks WHERE key = r.task)"},
	{"journals belong to no task", "SELECT count(*) FROM journal j WHERE NOT EXISTS (SELECT FROM tasks WHERE key = j.place >> 24)"},
	{"references to large parts have no content", `SELECT count(*) FROM part_refs r
		WHERE NOT EXISTS (SELECT FROM part_contents c WHERE c.space = r.space AND c.digest = r.digest)`},
}

// sums reports tables that disagree.
func (x *examiner) sums(ctx context.Context) error {
	for _, d := range disagreements {
		n, err := x.conn.epoch(ctx, d.query)
		if err != nil {
			return err
		}
		if n > 0 {
			x.report(fmt.Sprintf("%d %s", n, d.text))
		}
	}
	return nil
}

var (
	qKeysAfter = prepared("SELECT key FROM tasks WHERE key > $1 ORDER BY key LIMIT 1000")
	qHeadOfKey = prepared("SELECT " + columns + " FROM tasks t WHERE t.key = $1")
)

// tasks compares each task with its log.
func (x *examiner) tasks(ctx context.Context) error {
	for last := int64(0); ctx.Err() == nil; {
		s := x.conn.start(qKeysAfter)
		s.int(last)
		var keys []int64
		for s.next() {
			keys = append(keys, s.Int())
		}
		if len(keys) == 0 || s.err != nil {
			return s.err
		}
		for _, key := range keys {
			if err := x.task(task.Key(key)); damaged(err) {
				x.report(fmt.Sprintf("task with key %d: %v", key, err))
			} else if err != nil {
				return err
			}
		}
		last = keys[len(keys)-1]
	}
	return nil
}

// task returns the reason for which a task and its log disagree.
func (x *examiner) task(key task.Key) error {
	s := x.conn.start(qHeadOfKey)
	s.int(int64(key))
	x.n.Tasks++
	found, err := heads(&s)
	if err != nil || len(found) == 0 {
		return err
	}
	head := &found[0]
	var again task.Head
	for {
		page, err := entries(x.conn, key, again.Version)
		if err != nil {
			return fmt.Errorf("after entry %d: %w", again.Version, err)
		}
		if len(page) == 0 {
			break
		}
		for i := range page {
			if again, err = sqlstore.Following(&again, page[i]); err != nil {
				return fmt.Errorf("task %s: %w", head.ID, err)
			}
		}
	}
	x.n.Entries += again.Version
	if again.Version != head.Version || again.State != head.State {
		return fmt.Errorf("task %s: it is %v at version %d, and its log leads to %v at version %d: %w",
			head.ID, head.State, head.Version, again.State, again.Version, task.ErrCorrupt)
	}
	return nil
}

// beside reports rows beside tasks whose checksum is wrong.
func (x *examiner) beside(context.Context) error {
	return tables.EachDamaged(x.conn, func(r tables.BesideRow) {
		x.report(fmt.Sprintf("row %d of table %s: %v", r.Number, r.Table, sqlstore.ErrChecksum))
	})
}

// parts reads the large parts and compares them with their digests.
func (x *examiner) parts(ctx context.Context) error {
	for after := int64(0); ctx.Err() == nil; {
		next, err := x.conn.nextContent(after)
		if next == nil || err != nil {
			return err
		}
		after = next.id
		sum := sha256.New()
		_, err = io.Copy(sum, &chunkReader{conn: x.conn, content: *next})
		switch {
		case damaged(err):
			x.report(err.Error())
		case err != nil:
			return err
		case blobstore.Digest(sum.Sum(nil)) != next.name.Digest:
			x.report(fmt.Sprintf("part %s: the content is damaged: its digest does not match", next.name.Digest))
		default:
			x.n.Parts++
		}
	}
	return nil
}
