package sqlitestore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/task"
)

// Sweeping deletes slices, each in a commit shared with appends, so that no caller waits long.
const (
	sliceTasks = 64
	// sliceRows is the number of rows of entries that are deleted at once. A task with more is
	// deleted first and its entries later.
	sliceRows = 256
	// slicePieces is the number of pieces of large rows that are deleted at once.
	slicePieces = 16
	// slicePages is the number of pages that are returned to the file system at once. qVacuum
	// contains the same number.
	slicePages = 256
)

var (
	qEnded = prepared(`SELECT key, scope, state, shown, version FROM tasks
	WHERE ended > 0 AND ended < ?1 ORDER BY ended LIMIT ?2`)

	qDeleteTask    = prepared("DELETE FROM tasks WHERE key = ?")
	qDeleteEntries = prepared("DELETE FROM entries WHERE place >= ? AND place <= ?")

	// belongings delete the rows that belong to a task.
	belongings = []query{
		prepared("DELETE FROM snapshots WHERE task = ?"),
		prepared("DELETE FROM requests WHERE task = ?"),
		prepared("DELETE FROM messages WHERE task = ?"),
		prepared("DELETE FROM hooks WHERE task = ?"),
		prepared("DELETE FROM dead_letters WHERE task = ?"),
	}

	qDoom       = prepared("INSERT INTO doomed VALUES (?)")
	qDoomed     = prepared("SELECT task FROM doomed LIMIT 1")
	qUndoom     = prepared("DELETE FROM doomed WHERE task = ?")
	qDeleteSome = prepared(`DELETE FROM entries WHERE place IN
	(SELECT place FROM entries WHERE place >= ?1 AND place <= ?2 ORDER BY place LIMIT ?3)`)

	qFree   = prepared("PRAGMA freelist_count")
	qVacuum = prepared("PRAGMA incremental_vacuum(256)")
)

// Sweep implements task.Sweeper. It also removes the remains of an earlier, interrupted sweep,
// and shortens the file. If it returns an error, the number is that of the tasks deleted
// nevertheless.
func (t Tasks) Sweep(ctx context.Context, before task.Millis, limit int) (int, error) {
	total := 0
	for total < limit {
		slice := min(limit-total, sliceTasks)
		n, err := t.db.sweepSlice(ctx, before, slice)
		total += n
		if err != nil {
			return total, fmt.Errorf("sweep: %w", err)
		}
		if n < slice {
			break
		}
	}
	for _, step := range []func(*writer) (bool, error){(*writer).deleteAbandoned, (*writer).deleteDoomed, (*writer).vacuum} {
		if err := t.db.repeat(ctx, step); err != nil {
			return total, fmt.Errorf("sweep: %w", err)
		}
	}
	return total, nil
}

// repeat commits step repeatedly until it reports that no work is left.
func (db *DB) repeat(ctx context.Context, step func(*writer) (more bool, err error)) error {
	for {
		more, err := writeValue(ctx, db, step)
		if err != nil || !more {
			return err
		}
	}
}

// writeValue is like write, for a job with an answer. The answer is returned after the end of the job,
// because the caller may return earlier.
func writeValue[T any](ctx context.Context, db *DB, job func(*writer) (T, error)) (T, error) {
	answer := new(T)
	err := db.write(ctx, func(w *writer) (err error) {
		*answer, err = job(w)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return *answer, nil
}

func (db *DB) sweepSlice(ctx context.Context, before task.Millis, limit int) (int, error) {
	return writeValue(ctx, db, func(w *writer) (int, error) {
		found, err := w.endedTasks(before, limit)
		if err != nil {
			return 0, err
		}
		for i := range found {
			if err := w.deleteTask(&found[i]); err != nil {
				return 0, fmt.Errorf("delete task %d: %w", found[i].key, err)
			}
		}
		return len(found), nil
	})
}

// endedTask is a task to delete.
type endedTask struct {
	group
	key, version int64
	shown        task.Visibility
}

func (w *writer) endedTasks(before task.Millis, limit int) ([]endedTask, error) {
	s := w.conn.start(qEnded)
	s.int(int64(before))
	s.int(int64(limit))
	var found []endedTask
	for s.next() {
		found = append(found, endedTask{
			key:     s.getInt(),
			group:   group{scope: s.getInt(), state: task.State(s.getInt())},
			shown:   task.Visibility(s.getInt()),
			version: s.getInt(),
		})
	}
	return found, s.err
}

func (w *writer) deleteTask(t *endedTask) error {
	if err := w.forKey(qDeleteTask, t.key); err != nil {
		return err
	}
	if t.shown == task.Visible {
		w.counters.add(t.group, -1)
	}
	for _, q := range belongings {
		if err := w.forKey(q, t.key); err != nil {
			return err
		}
	}
	if err := w.dropSidecars(t.key); err != nil {
		return err
	}
	if err := w.dropJournal(t.key); err != nil {
		return err
	}
	large, err := w.hasPieces(t.key)
	if err != nil {
		return err
	}
	if large || t.version > sliceRows {
		return w.forKey(qDoom, t.key)
	}
	s := w.conn.start(qDeleteEntries)
	bindPlaces(&s, t.key)
	return s.done()
}

// bindPlaces binds the first and the last place of a task.
func bindPlaces(s *stmt, key int64) {
	s.int(sqlstore.Place(task.Key(key), 0))
	s.int(sqlstore.Place(task.Key(key), sqlstore.MaxVersion))
}

func (w *writer) forKey(q query, key int64) error {
	s := w.conn.start(q)
	s.int(key)
	return s.done()
}

// deleteDoomed deletes some entries of a deleted task.
func (w *writer) deleteDoomed() (more bool, err error) {
	s := w.conn.start(qDoomed)
	if !s.next() {
		return false, s.err
	}
	key := s.getInt()
	s.close()
	for _, q := range []query{qDropPlaces, qDeleteSome} {
		limit := sliceRows
		if q == qDropPlaces {
			limit = slicePieces
		}
		s = w.conn.start(q)
		bindPlaces(&s, key)
		s.int(int64(limit))
		n, err := s.changed()
		if err != nil || n == limit {
			return true, err
		}
	}
	return true, w.forKey(qUndoom, key)
}

// vacuum returns some free pages to the file system. It keeps a few for the next tasks.
func (w *writer) vacuum() (more bool, err error) {
	s := w.conn.start(qFree)
	free, err := s.only()
	if err != nil || free < slicePages {
		return false, err
	}
	return free >= 2*slicePages, w.conn.run(qVacuum)
}
