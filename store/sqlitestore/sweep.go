package sqlitestore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// Sweeping deletes slices, each in a commit shared with appends, so that no caller waits long.
const (
	// slicePieces is the number of pieces of large rows that are deleted at once.
	slicePieces = 16
	// slicePages is the number of pages that are returned to the file system at once. qVacuum
	// contains the same number.
	slicePages = 256
)

var (
	qFree   = prepared("PRAGMA freelist_count")
	qVacuum = prepared("PRAGMA incremental_vacuum(256)")
)

// Sweep implements task.Sweeper. It also removes the remains of an earlier, interrupted sweep,
// and shortens the file. If it returns an error, the number is that of the tasks deleted
// nevertheless.
func (t Tasks) Sweep(ctx context.Context, before task.Millis, limit int) (int, error) {
	total, err := tables.DeleteEnded(ctx, t.DB, before, limit)
	if err != nil {
		return total, fmt.Errorf("sweep: %w", err)
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

// bindPlaces binds the first and the last place of a task.
func bindPlaces(s *stmt, key int64) {
	s.int(sqlstore.Place(task.Key(key), 0))
	s.int(sqlstore.Place(task.Key(key), sqlstore.MaxVersion))
}

// slowly reports whether the entries of a task are deleted after it.
func (w *writer) slowly(key task.Key, version int64) (bool, error) {
	if version > tables.SliceRows {
		return true, nil
	}
	s := w.conn.start(qHasPieces)
	bindPlaces(&s, int64(key))
	n, err := s.only()
	return n == 1, err
}

// deleteDoomed deletes some pieces or entries of a deleted task.
func (w *writer) deleteDoomed() (more bool, err error) {
	return tables.DeleteDoomed(w.conn, func(key task.Key) (bool, error) {
		s := w.conn.start(qDropPlaces)
		bindPlaces(&s, int64(key))
		s.int(slicePieces)
		n, err := s.changed()
		return n == slicePieces, err
	})
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
