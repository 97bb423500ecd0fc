package tables

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
)

// Sweeping deletes slices, each in a commit shared with appends, so that no caller waits long.
const (
	sliceTasks = 64
	// SliceRows is the number of rows of entries that are deleted at once. A task with more is deleted
	// first and its entries later.
	SliceRows = 256
)

var (
	qEnded = prepared(`SELECT key, scope, state, shown, version FROM tasks
	WHERE ended > 0 AND ended < $1 /*postgres{*/ AND NOT EXISTS (SELECT FROM shard_moving m WHERE m.owner = tasks.owner) /*}*/
	ORDER BY ended LIMIT $2 /*postgres{*/ FOR UPDATE OF tasks SKIP LOCKED /*}*/`)

	qDeleteEntries = prepared("DELETE FROM entries WHERE place >= $1 AND place <= $2")
	qDropJournal   = prepared("DELETE FROM journal WHERE place >= $1 AND place <= $2")

	qDoom       = prepared("INSERT INTO doomed VALUES ($1)")
	qDoomed     = prepared("SELECT task FROM doomed LIMIT 1")
	qUndoom     = prepared("DELETE FROM doomed WHERE task = $1")
	qDeleteSome = prepared(`DELETE FROM entries WHERE place IN
	(SELECT place FROM entries WHERE place >= $1 AND place <= $2 ORDER BY place LIMIT $3)`)

	// belongings delete a task and the rows that belong to it.
	belongings = []Query{
		prepared("DELETE FROM tasks WHERE key = $1"),
		prepared("DELETE FROM snapshots WHERE task = $1"),
		prepared("DELETE FROM requests WHERE task = $1"),
		prepared("DELETE FROM messages WHERE task = $1"),
		prepared("DELETE FROM hooks WHERE task = $1"),
		prepared("DELETE FROM dead_letters WHERE task = $1"),
		prepared("DELETE FROM task_words WHERE /*sqlite rowid*/ /*postgres{*/ task /*}*/ = $1"),
	}
)

// Sweep implements task.Sweeper. It also removes the remains of an earlier, interrupted sweep. If it
// returns an error, the number is that of the tasks deleted nevertheless.
func (t Tasks) Sweep(ctx context.Context, before task.Millis, limit int) (int, error) {
	total, err := DeleteEnded(ctx, t.DB, before, limit)
	for more := true; err == nil && more; {
		more, err = resultOf(ctx, t.DB.WriteAlone, func(c Conn) (bool, error) { return DeleteDoomed(c, nil) })
	}
	if err != nil {
		return total, fmt.Errorf("sweep: %w", err)
	}
	return total, nil
}

// DeleteDoomed deletes some entries of a deleted task, after those rows that first deletes, unless it is
// nil. It reports whether more may be left.
func DeleteDoomed(c Conn, first func(key task.Key) (more bool, err error)) (more bool, err error) {
	n, found, err := one(c, scanInt, qDoomed)
	if err != nil || !found {
		return false, err
	}
	key := task.Key(n)
	if first != nil {
		if more, err := first(key); err != nil || more {
			return true, err
		}
	}
	deleted, err := c.Changed(qDeleteSome, sqlstore.Place(key, 0), sqlstore.Place(key, sqlstore.MaxVersion), SliceRows)
	if err == nil && deleted < SliceRows {
		err = c.Exec(qUndoom, key)
	}
	return true, err
}

// DeleteEnded deletes up to limit tasks that ended earlier, and returns their number, also with an
// error.
func DeleteEnded(ctx context.Context, db TaskTransactor, before task.Millis, limit int) (total int, err error) {
	for total < limit {
		slice := min(limit-total, sliceTasks)
		n := new(int) // the job may run after the call has ended
		err := db.Change(ctx, func(ch *Change) (err error) {
			*n, err = ch.deleteEnded(before, slice)
			return err
		})
		if err != nil {
			return total, err
		}
		if total += *n; *n < slice {
			break
		}
	}
	return total, nil
}

// endedTask is a task to delete.
type endedTask struct {
	Group
	key     task.Key
	version int64
	shown   task.Visibility
}

func scanEnded(row Row, t *endedTask) error {
	t.key = task.Key(row.Int())
	t.Group = Group{Scope: row.Int(), State: task.State(row.Int())}
	t.shown, t.version = task.Visibility(row.Int()), row.Int()
	return nil
}

func (ch *Change) deleteEnded(before task.Millis, limit int) (int, error) {
	found, err := rows(ch, scanEnded, qEnded, before, limit)
	if err != nil {
		return 0, err
	}
	for i := range found {
		if err := ch.deleteTask(&found[i]); err != nil {
			return 0, fmt.Errorf("delete task %d: %w", found[i].key, err)
		}
	}
	return len(found), nil
}

func (ch *Change) deleteTask(t *endedTask) error {
	if t.shown == task.Visible {
		ch.Counters.Add(t.Group, -1)
	}
	for _, q := range belongings {
		if err := ch.Exec(q, t.key); err != nil {
			return err
		}
	}
	for kind := range task.SidecarKinds {
		if err := ch.Exec(qDropSidecar, sqlstore.SidecarPlace(kind, t.key)); err != nil {
			return fmt.Errorf("delete sidecar %d: %w", kind, err)
		}
	}
	if err := DropJournal(ch, t.key); err != nil {
		return err
	}
	slowly, err := ch.Slowly(t.key, t.version)
	switch {
	case err != nil:
		return err
	case slowly:
		return ch.Exec(qDoom, t.key)
	}
	return DropEntries(ch, t.key)
}

// DropEntries deletes the rows of entries of a task.
func DropEntries(c Execer, key task.Key) error {
	return c.Exec(qDeleteEntries, sqlstore.Place(key, 0), sqlstore.Place(key, sqlstore.MaxVersion))
}

// DropJournal deletes the journal of a task.
func DropJournal(c Execer, key task.Key) error {
	if err := c.Exec(qDropJournal, sqlstore.Place(key, 0), sqlstore.Place(key, sqlstore.MaxVersion)); err != nil {
		return fmt.Errorf("delete journal of task %d: %w", key, err)
	}
	return nil
}
