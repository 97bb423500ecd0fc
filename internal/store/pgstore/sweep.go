package pgstore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/task"
)

// sliceRows is the number of rows of entries that are deleted at once. A task with more is deleted
// first and its entries later.
const sliceRows = 256

var (
	qDoomed     = prepared("SELECT task FROM doomed LIMIT 1")
	qUndoom     = prepared("DELETE FROM doomed WHERE task = $1")
	qDeleteSome = prepared(`DELETE FROM entries WHERE place IN
	(SELECT place FROM entries WHERE place >= $1 AND place <= $2 ORDER BY place LIMIT $3)`)
)

// Sweep implements task.Sweeper. It also removes the remains of an earlier, interrupted sweep.
// If it returns an error, the number is that of the tasks deleted nevertheless.
func (t Tasks) Sweep(ctx context.Context, before task.Millis, limit int) (int, error) {
	total, err := tables.DeleteEnded(ctx, t.DB, before, limit)
	if err != nil {
		return total, fmt.Errorf("sweep: %w", err)
	}
	if err := t.db.repeat(ctx, (*writer).deleteDoomed); err != nil {
		return total, fmt.Errorf("sweep: %w", err)
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

// bindPlaces binds the first and the last place of a task.
func bindPlaces(s *stmt, key int64) {
	s.int(sqlstore.Place(task.Key(key), 0))
	s.int(sqlstore.Place(task.Key(key), sqlstore.MaxVersion))
}

// slowly reports whether the entries of a task are deleted after it.
func slowly(_ task.Key, version int64) (bool, error) { return version > sliceRows, nil }

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
	s = w.conn.start(qDeleteSome)
	bindPlaces(&s, key)
	s.int(sliceRows)
	n, err := s.changed()
	if err == nil && n < sliceRows {
		err = w.forKey(qUndoom, key)
	}
	return true, err
}
