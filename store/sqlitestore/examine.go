package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// Problem is an inconsistency of a file.
type Problem struct {
	// Task is the id of the affected task; empty if there is none, or if it is not known.
	Task a2a.TaskID
	// Text describes the problem.
	Text string
}

// Examined counts what Examine has read.
type Examined struct {
	Tasks, Entries, Commits int64
	// Loss is the data that a copied file is known to have had and lacks; nil if there is none. See
	// CopyOptions.
	Loss *Loss
}

// Examine reads the file at path and reports its problems: damaged pages, commits that are
// missing, tasks whose log does not lead to their state, counters and numbers that disagree. It
// changes no data, and a hub may use the file meanwhile. The error is that of a file that cannot
// be examined at all, as of Open; it wraps ErrOlder or ErrUnread if the data may be sound.
func Examine(ctx context.Context, path string, report func(Problem)) (n Examined, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return n, err
	}
	x := &examiner{report: report}
	if err := x.file(ctx, path); err != nil {
		if damaged(err) && !errors.Is(err, ErrDamaged) {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return x.n, fmt.Errorf("examine %s: %w", path, unread(err))
	}
	return x.n, nil
}

// examiner examines a file.
type examiner struct {
	report func(Problem)
	c      *conn
	n      Examined
}

func (x *examiner) file(ctx context.Context, path string) (err error) {
	if _, err := prepare(path, false); err != nil {
		return err
	}
	if empty, err := examineHead(path); err != nil || empty {
		return errors.Join(err, ErrNoStore)
	}
	// The mark is read first: a running hub commits more meanwhile.
	claim, err := readMark(path)
	if err != nil {
		return err
	}
	if x.c, err = openToRead(path, 8<<20); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.c.close()) }()
	x.c.raw.SetInterrupt(ctx.Done())
	if err := x.identity(claim); err != nil {
		return err
	}
	s := x.c.start(qIntegrityAll)
	for s.next() {
		if text := s.Text(); text != "ok" {
			x.report(Problem{Text: text})
		}
	}
	x.failed("check pages", s.err)
	x.sums()
	x.tasks(ctx)
	x.failed("read rows beside tasks", tables.EachDamaged(x.c, func(r tables.BesideRow) {
		x.report(Problem{Text: fmt.Sprintf("row %d of table %s: %v", r.Number, r.Table, sqlstore.ErrChecksum)})
	}))
	return context.Cause(ctx)
}

// ErrNoStore is returned by Examine if the file does not exist or is empty, and nothing shows that
// it ever had data.
var ErrNoStore = errors.New("there is no store")

// identity checks the layout of the file, and compares it with its mark.
func (x *examiner) identity(claim *mark) error {
	steps, err := sqlstore.Migrations(schema)
	if err != nil {
		return err
	}
	have, err := recognize(x.c, steps)
	if err != nil {
		return err
	}
	if have < len(steps) {
		return fmt.Errorf("%w: start the hub once, or use the parley that made it", ErrOlder)
	}
	found, err := identity(x.c)
	if err != nil {
		return err
	}
	x.n.Commits = found.commits
	if claim == nil {
		return nil
	}
	if claim.store == "" {
		x.report(Problem{Text: "the mark beside the file cannot be read; the next start writes it again"})
	}
	if loss := claim.loss(found); loss != nil {
		x.report(Problem{Text: loss.Error()})
	}
	return nil
}

var qIntegrityAll = prepared("PRAGMA integrity_check(20)")

func (x *examiner) failed(operation string, err error) {
	if err != nil {
		x.report(Problem{Text: fmt.Sprintf("%s: %v", operation, err)})
	}
}

// disagreements are queries that count rows that disagree.
var disagreements = []struct{ text, query string }{
	{"counters of tasks are wrong", `SELECT count(*) FROM (
		SELECT * FROM (SELECT scope, state, count(*) FROM tasks WHERE shown = 0 GROUP BY 1, 2 EXCEPT SELECT * FROM counters)
		UNION ALL SELECT * FROM (SELECT * FROM counters WHERE n <> 0
			EXCEPT SELECT scope, state, count(*) FROM tasks WHERE shown = 0 GROUP BY 1, 2))`},
	{"rows of logs belong to no task", "SELECT count(*) FROM entries WHERE place >> 24 NOT IN (SELECT key FROM tasks UNION SELECT task FROM doomed)"},
	{"pieces belong to no row of a log", `SELECT count(*) FROM pieces p WHERE place NOT IN (SELECT place FROM entries)
		AND place >> 24 NOT IN (SELECT task FROM doomed)
		AND NOT EXISTS (SELECT 1 FROM staged WHERE p.id >= first AND p.id < first + n)`},
	{"tasks have keys that are not given out yet", "SELECT count(*) FROM tasks WHERE key >= (SELECT next_key FROM sequence)"},
	{"tasks have no owner or agent", "SELECT count(*) FROM tasks WHERE scope NOT IN (SELECT s.id FROM scopes s JOIN owners o ON o.id = s.owner)"},
	{"webhooks belong to no task", "SELECT count(*) FROM hooks WHERE task NOT IN (SELECT key FROM tasks)"},
	{"aliases belong to no task", "SELECT count(*) FROM messages WHERE task NOT IN (SELECT key FROM tasks)"},
	{"keyed requests belong to no task", "SELECT count(*) FROM requests WHERE task NOT IN (SELECT key FROM tasks)"},
	{"journals belong to no task", "SELECT count(*) FROM journal WHERE place >> 24 NOT IN (SELECT key FROM tasks)"},
}

// sums reports tables that disagree, all as of one moment.
func (x *examiner) sums() {
	if err := x.c.run(qBegin); err != nil {
		x.failed("compare tables", err)
		return
	}
	for _, d := range disagreements {
		n, err := x.c.number(d.query)
		x.failed("compare tables", err)
		if n > 0 {
			x.report(Problem{Text: fmt.Sprintf("%d %s", n, d.text)})
		}
	}
	_ = x.c.run(qRollback) // nothing was written
}

var (
	qKeysAfter = prepared("SELECT key FROM tasks WHERE key > ? ORDER BY key LIMIT 256")
	qHeadOfKey = prepared("SELECT " + columns + " FROM tasks t WHERE t.key = ?")
)

// tasks examines each task.
func (x *examiner) tasks(ctx context.Context) {
	for last := int64(0); ctx.Err() == nil; {
		s := x.c.start(qKeysAfter)
		s.int(last)
		var keys []int64
		for s.next() {
			keys = append(keys, s.Int())
		}
		x.failed("read tasks", s.err)
		if len(keys) == 0 || s.err != nil {
			return
		}
		for _, key := range keys {
			x.task(key)
		}
		last = keys[len(keys)-1]
	}
}

// task compares a task with its log.
func (x *examiner) task(key int64) {
	if err := x.c.run(qBegin); err != nil {
		x.failed("read a task", err)
		return
	}
	var l taskLog
	err := l.read(x.c, key)
	_ = x.c.run(qRollback) // nothing was written
	if errors.Is(err, task.ErrNotFound) {
		return // it was deleted meanwhile
	}
	x.n.Tasks++
	x.n.Entries += l.again.Version
	if err != nil {
		x.report(Problem{Task: l.head.ID, Text: fmt.Sprintf("task %s (key %d): %v", l.head.ID, key, err)})
	}
}

// taskLog is a task and its log, as far as it can be read.
type taskLog struct {
	// head is the stored head, again the one to which the entries lead.
	head, again task.Head
	// keep makes read return the entries, too.
	keep bool
	kept []task.Entry
}

// read reads the head and the entries up to the first that is missing, damaged or not possible.
// The error is the reason.
func (l *taskLog) read(c *conn, key int64) error {
	s := c.start(qHeadOfKey)
	s.int(key)
	if !s.next() {
		if s.err == nil {
			s.err = task.ErrNotFound
		}
		return s.err
	}
	l.head = task.Head{}
	_, changed := readHeadAlone(&s, &l.head)
	s.close()
	if changed != nil && l.head.Owner == "" {
		return changed
	}
	if s.err != nil {
		return s.err
	}
	s = c.start(qEntries)
	s.int(sqlstore.Place(task.Key(key), 1))
	s.int(sqlstore.Place(task.Key(key), sqlstore.MaxVersion))
	s.int(key)
	for s.next() {
		data, err := c.whole(s.Blob())
		var es []task.Entry
		if err == nil {
			es, err = sqlstore.DecodeEntries(data)
		}
		for i := range es {
			if err := l.add(es[i]); err != nil {
				s.close()
				return err
			}
		}
		if err != nil {
			s.close()
			return fmt.Errorf("entry %d: %w", l.again.Version+1, err)
		}
	}
	switch n := l.again.Version; {
	case s.err != nil:
		return fmt.Errorf("entry %d: %w", n+1, s.err)
	case n < l.head.Version:
		return fmt.Errorf("entries %d to %d are missing: %w", n+1, l.head.Version, task.ErrCorrupt)
	case n > l.head.Version:
		return fmt.Errorf("the log has %d entries, and the task knows %d: %w", n, l.head.Version, task.ErrCorrupt)
	case l.again.State != l.head.State:
		return fmt.Errorf("its state is %v, and its log leads to %v: %w", l.head.State, l.again.State, task.ErrCorrupt)
	}
	return changed // the whole log is there, from which a head can be made
}

// add applies the next entry.
func (l *taskLog) add(e task.Entry) error {
	next, err := sqlstore.Following(&l.again, e)
	if err != nil {
		return err
	}
	l.again = next
	if l.keep {
		l.kept = append(l.kept, e)
	}
	return nil
}

// ReadNote returns a note of the directory from the file at path; nil if it has none. It changes
// nothing, and a hub may use the file meanwhile.
func ReadNote(ctx context.Context, path, name string) (note []byte, err error) {
	if empty, err := examineHead(path); err != nil || empty {
		return nil, err
	}
	c, err := openToRead(path, 1<<20)
	if err != nil {
		return nil, err
	}
	c.raw.SetInterrupt(ctx.Done())
	note, err = tables.ReadNote(c, name)
	return note, errors.Join(err, c.close())
}
