package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
)

// Options tune a DB. The zero value is the hub's setting.
type Options struct {
	// Readers is the largest number of connections that read at the same time; zero means the
	// number of processors (GOMAXPROCS), but from 2 to 4. They are opened when they are needed.
	// More of them share the same memory for pages.
	Readers int
	// CacheBytes is the memory that all connections together may use for pages of the file, in
	// bytes; zero means 24 MiB.
	CacheBytes int
	// KeepMoments is the number of moments that the timeline keeps; zero means 100,000.
	KeepMoments int

	// Committed, if not nil, is called after each commit, from the goroutine that writes: it
	// must return at once.
	Committed func(Commit)

	// Damaged, if not nil, is called for each read and write that has met damaged data, from the
	// goroutine that has met it: it must return at once.
	Damaged func(Damage)
	// Replaced, if not nil, is called at most once, after another program has changed the files
	// and their data was saved or could not be, with the error of later writes. The goroutine
	// that writes calls it.
	Replaced func(error)
	// AcceptLoss opens a file also if it is known to have had more data; see DB.Loss.
	AcceptLoss bool

	// prepare changes each new writing connection. Tests inject failures with it.
	prepare func(*conn) error
}

// Commit describes a commit or a failed attempt.
type Commit struct {
	// Changes is the number of changes and other writes in it.
	Changes int
	// Took is its duration, including the sync to the disk.
	Took time.Duration
	// Err is nil if the commit is durable; otherwise it is the error that its callers got.
	Err error
}

// DB is an open file. Its methods are safe for concurrent use.
type DB struct {
	path    string
	writer  *writer
	reading connOptions // of readers
	readers *sqlstore.Pool[*conn]
	damages damages
	work    sync.WaitGroup // the writer's goroutine
	// checks is the work of the checkpointer, which ends after the writer.
	checks sync.WaitGroup
	close  func() error
}

// Open opens the file at path, or creates it, readable by its user alone. The error names the
// file; it wraps ErrNewer, ErrForeign or ErrDamaged if the file cannot be used, and ErrLost if
// the file has lost data.
func Open(path string, o Options) (*DB, error) {
	db, err := open(path, o)
	if err != nil {
		if damaged(err) {
			err = fmt.Errorf("%w: restore a backup: %w", ErrDamaged, err)
		}
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return db, nil
}

func open(path string, o Options) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	loss, err := prepare(path, o.AcceptLoss)
	if err != nil {
		return nil, err
	}
	f, err := openFiles(path)
	if err != nil {
		return nil, err
	}
	if o.Readers <= 0 {
		o.Readers = min(max(runtime.GOMAXPROCS(0), 2), 4)
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = 24 << 20
	}
	// The writer updates every index of a task and profits most from the cache.
	w := newWriter(connOptions{path: path, cache: o.CacheBytes / 3}, o.prepare)
	w.committed, w.replaced, w.keepMoments = o.Committed, o.Replaced, int64(o.KeepMoments)
	if w.keepMoments <= 0 {
		w.keepMoments = defaultKeepMoments
	}
	w.files, w.accept, w.loss = f, o.AcceptLoss, loss
	err = w.first()
	if err != nil && useReserve(path, err) {
		err = w.first()
	}
	if err != nil {
		return nil, errors.Join(err, w.mark.close(), f.close())
	}
	keepReserve(path)
	db := &DB{
		path:    path,
		writer:  w,
		reading: connOptions{path: path, readOnly: true, cache: o.CacheBytes * 2 / 3 / o.Readers},
	}
	db.readers = newReaders(db.reading, o.Readers, db.met)
	db.damages.report, w.damaged = o.Damaged, db.met
	db.close = sync.OnceValue(db.shut)
	w.checkpointer = newCheckpointer(w.opts, f)
	db.checks.Go(w.checkpointer.loop)
	db.work.Go(w.loop)
	return db, nil
}

// Path returns the absolute path of the file.
func (db *DB) Path() string { return db.path }

// Tasks returns the tasks in the file.
func (db *DB) Tasks() Tasks { return Tasks{tasksTable{DB: shared{db}, Damaged: ErrDamaged}, db} }

// Loss returns the data that was missing when the file was opened with Options.AcceptLoss; nil
// if nothing was.
func (db *DB) Loss() *Loss { return db.writer.loss }

// Intact returns an error that wraps ErrReplaced if another program has removed, replaced or
// shortened a file of the store since Open. It examines the files itself; writes examine them,
// too, and find the same.
func (db *DB) Intact(ctx context.Context) error {
	if err := db.writer.gone.Load(); err != nil {
		return *err
	}
	if s, err := db.writer.files.look(); s == intact && err == nil {
		return nil
	}
	// The writer examines the log, and saves the readable part.
	err := db.write(ctx, func(*writer) error { return nil })
	if errors.Is(err, ErrReplaced) {
		return err
	}
	return nil // any other failure is not one of the names of the files
}

// Close waits until accepted writes and running reads are finished, and closes the file. Later
// calls of other methods return task.ErrUnavailable. Close may be called again.
func (db *DB) Close() error { return db.close() }

func (db *DB) shut() error {
	db.writer.queue.Close()
	db.work.Wait()
	db.writer.checkpointer.close()
	db.checks.Wait()
	// The writer is closed last: the last connection to close merges the write-ahead log into
	// the file, which a reader cannot do.
	err := errors.Join(db.readers.Close(), db.writer.close(), db.writer.files.close(), db.writer.mark.close())
	if err != nil {
		return fmt.Errorf("close %s: %w", db.path, err)
	}
	return nil
}
