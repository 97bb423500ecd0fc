package sqlitestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// ErrReplaced is returned, together with task.ErrUnavailable, by writes after another program
// has removed, replaced or shortened a file of the store. The store accepts no more writes until
// it is opened again.
var ErrReplaced = errors.New("files were changed by another program")

// pathEvery is the interval at which the name of the file is looked up during commits. In
// between, only the open files are examined.
const pathEvery = 250 * time.Millisecond

// files notices that the open files are no longer those in the folder.
type files struct {
	path string

	mu sync.Mutex // guards the fields below
	// db is closed after the last connection: closing a file releases the locks of the process.
	db     *os.File
	dbInfo fs.FileInfo
	wal    *os.File // nil until the first commit of the writing connection
	seen   seen
	buf    [walHeadSize]byte
}

// seen is the state of the files that the writer has seen last, with which it compares them.
type seen struct {
	dbSize int64
	head   walHead
	size   int64 // of the log
	// counted is set once the writing connection has started the log, so that the number in its
	// next header is known.
	counted bool
	// failed is set after an error of a write: SQLite then writes the header of the log again,
	// perhaps with a salt of another series. It is reset with the next regular header.
	failed bool
	looked time.Time // when the names were looked up
}

// walHead is the part of the header of a write-ahead log that identifies it. A log that starts
// again has the next number, and a salt that is greater by one; if a new connection starts it, the
// number is that of the connection.
type walHead struct{ number, salt uint32 }

const walHeadSize = 32

// openable returns an error for a folder, and for a pipe, whose opening would hang.
func openable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%w: it is a folder: choose another path", ErrForeign)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: it is not a regular file (%v): choose another path", ErrForeign, info.Mode().Type())
	}
	return nil
}

// regular returns an error unless path is a file of a single name, or nothing.
func regular(path string) error {
	if err := openable(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if n := links(info); n > 1 {
		return fmt.Errorf("%w: it has %d names (hard links), so another hub may use it: make a copy of the file in place of the link",
			ErrForeign, n)
	}
	return nil
}

// openFiles opens or creates the file at path.
func openFiles(path string) (*files, error) {
	f := &files{path: path}
	var err error
	if f.db, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if f.dbInfo, err = f.db.Stat(); err != nil {
		return nil, errors.Join(err, f.db.Close())
	}
	return f, nil
}

// writeFailed expects a header of the log that does not follow the one before.
func (f *files) writeFailed() {
	f.forgetWAL()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen.failed = true
}

// forgetWAL expects the log to be removed with the last connection.
func (f *files) forgetWAL() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wal != nil {
		_ = f.wal.Close() // it was only read
	}
	f.wal = nil
	f.seen.head, f.seen.size, f.seen.counted = walHead{}, 0, false
}

func (f *files) close() error {
	f.forgetWAL()
	return f.db.Close()
}

// state is a finding about the files.
type state int

const (
	intact state = iota
	// shorter means that the write-ahead log was shortened: by a checkpoint of another program,
	// or by accident.
	shorter
)

// before examines the files before a commit: the cut-off end of the log may be written over.
func (f *files) before() (state, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.examineLocked(false)
}

// after examines the files after a commit, which has written to the log.
func (f *files) after() (state, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wal == nil {
		wal, err := os.Open(f.path + "-wal")
		if err != nil {
			return intact, f.gone("-wal", err)
		}
		f.wal = wal
	}
	return f.examineLocked(true)
}

// look examines the files and their names for a reader. It changes nothing that the writer has seen, so
// that the writer finds the same; after a finding, the writer looks up the names with its next commit.
func (f *files) look() (state, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.seen
	f.seen.looked = time.Time{}
	s, err := f.examineLocked(false)
	f.seen = before
	if err != nil {
		f.seen.looked = time.Time{}
	}
	return s, err
}

func (f *files) examineLocked(written bool) (state, error) {
	size, err := examine(f.db)
	if err == nil && size == 0 && f.seen.dbSize > 0 {
		err = errors.New("it was emptied")
	}
	if err != nil {
		return intact, f.gone("", err)
	}
	f.seen.dbSize = size
	if err := f.namesLocked(); err != nil {
		return intact, err
	}
	if f.wal == nil {
		return intact, nil
	}
	if size, err = examine(f.wal); err != nil {
		return intact, f.gone("-wal", err)
	}
	return f.walLocked(size, written)
}

// namesLocked looks up the names of the files from time to time.
func (f *files) namesLocked() error {
	now := time.Now()
	if now.Sub(f.seen.looked) < pathEvery {
		return nil
	}
	f.seen.looked = now
	if info, err := os.Stat(f.path); err != nil || !os.SameFile(info, f.dbInfo) {
		return f.gone("", moved(err))
	}
	if f.wal == nil {
		return nil
	}
	mine, err := f.wal.Stat()
	if err != nil {
		return f.gone("-wal", err)
	}
	if info, err := os.Stat(f.path + "-wal"); err != nil || !os.SameFile(info, mine) {
		return f.gone("-wal", moved(err))
	}
	return nil
}

func moved(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return errors.New("it was removed or replaced")
	}
	return err
}

// walLocked compares the log with its state at the last call.
func (f *files) walLocked(size int64, written bool) (state, error) {
	last := &f.seen
	if size < walHeadSize {
		if !written && last.size == 0 {
			return intact, nil
		}
		last.size = size
		return shorter, nil
	}
	if _, err := f.wal.ReadAt(f.buf[:], 0); err != nil {
		return intact, f.gone("-wal", err)
	}
	old, head := last.head, walHead{number: binary.BigEndian.Uint32(f.buf[12:]), salt: binary.BigEndian.Uint32(f.buf[16:])}
	valid := binary.BigEndian.Uint32(f.buf[0:])&^1 == 0x377f0682
	started := last.size > 0 && head != old
	regular := head.salt-old.salt == head.number-old.number
	next := regular || last.failed || !last.counted && head.salt-old.salt == 1
	if !valid || started && !next {
		return intact, f.gone("-wal", errors.New("its beginning was overwritten"))
	}
	last.counted = last.counted || started
	last.failed = last.failed && !(started && regular)
	cut := size < last.size && head == old
	last.head, last.size = head, size
	if cut {
		return shorter, nil
	}
	return intact, nil
}

// gone returns the error about a file, by its suffix.
func (f *files) gone(suffix string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrReplaced, filepath.Base(f.path)+suffix, err)
}

// inPlace reports whether the file, not its log, is the one in the folder.
func (f *files) inPlace() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	size, err := examine(f.db)
	if err != nil || size == 0 {
		return false
	}
	info, err := os.Stat(f.path)
	return err == nil && os.SameFile(info, f.dbInfo)
}
