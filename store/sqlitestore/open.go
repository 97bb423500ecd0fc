package sqlitestore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// Options tune a DB. The zero value is what a hub uses.
type Options struct {
	// Readers is the largest number of connections that read at the same time; zero
	// means as many as there are processors (GOMAXPROCS), but from 2 to 4. They are
	// opened when they are needed. More of them share the same memory for pages.
	Readers int
	// CacheBytes is how much memory all connections together may use for pages of
	// the file; zero means 24 MiB.
	CacheBytes int

	// Committed, if not nil, hears of each commit, from the goroutine that writes: it
	// must return at once.
	Committed func(Commit)

	// prepare changes each new writing connection. Tests break things with it.
	prepare func(*conn) error
}

// Commit is what the writer has tried to make durable at once.
type Commit struct {
	// Changes is how many changes and other writes it had.
	Changes int
	// Took is how long it took, the sync to the disk included.
	Took time.Duration
	// Err is nil if all of it is durable; else it is what the writers of the changes
	// were told.
	Err error
}

// DB is an open file. Its methods are safe for concurrent use.
type DB struct {
	path    string
	writer  *writer
	readers *readers
	work    sync.WaitGroup // the writer's goroutine
	close   func() error
}

// Open opens the file at path, or makes it, readable by its user alone. The error
// names the file; it wraps ErrNewer, ErrForeign or ErrDamaged if the file cannot be
// used as it is.
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
	if err := touch(path); err != nil {
		return nil, err
	}
	if o.Readers <= 0 {
		o.Readers = min(max(runtime.GOMAXPROCS(0), 2), 4)
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = 24 << 20
	}
	// The writer touches every index of a task and profits most.
	w := newWriter(connOptions{path: path, cache: o.CacheBytes / 3}, o.prepare)
	w.told = o.Committed
	if err := w.first(); err != nil {
		return nil, err
	}
	db := &DB{
		path:    path,
		writer:  w,
		readers: newReaders(connOptions{path: path, readOnly: true, cache: o.CacheBytes * 2 / 3 / o.Readers}, o.Readers),
	}
	db.close = sync.OnceValue(db.shut)
	db.work.Go(w.loop)
	return db, nil
}

// touch makes the file if there is none, and checks that it may be written and
// looks like a database.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	const magic = "SQLite format 3\x00"
	head := make([]byte, len(magic))
	n, err := io.ReadFull(f, head)
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case !bytes.Equal(head, []byte(magic)):
		return fmt.Errorf("%w, nor of SQLite: choose another path", ErrForeign)
	}
	return nil
}

// Path returns the absolute path of the file.
func (db *DB) Path() string { return db.path }

// Tasks returns the tasks in the file.
func (db *DB) Tasks() Tasks { return Tasks{db} }

// Close waits until what was accepted is written and what is being read is read,
// and closes the file. Later calls of other methods give task.ErrUnavailable.
// Close may be called again.
func (db *DB) Close() error { return db.close() }

func (db *DB) shut() error {
	db.writer.queue.close()
	db.work.Wait()
	// The writer goes last: the last connection to close merges the write-ahead
	// log into the file, which a reader cannot.
	err := errors.Join(db.readers.close(), db.writer.close())
	if err != nil {
		return fmt.Errorf("close %s: %w", db.path, err)
	}
	return nil
}
