package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
)

// queries are the texts of all statements. It is filled while the package is
// initialised and only read afterwards.
var queries []string

// query is a statement that connections keep prepared.
type query int

// prepared adds a statement.
func prepared(text string) query {
	queries = append(queries, text)
	return query(len(queries) - 1)
}

var (
	qBegin    = prepared("BEGIN")
	qBeginNow = prepared("BEGIN IMMEDIATE")
	qCommit   = prepared("COMMIT")
	qRollback = prepared("ROLLBACK")
)

// busyTimeout is how long a connection waits for a lock of another process.
const busyTimeout = 5 * time.Second

const (
	// walPages is the number of pages in the write-ahead log from which a commit moves them into the
	// file.
	walPages = 16000
	// maxWAL is about the size of a log with walPages pages, in bytes.
	maxWAL = 64 << 20
)

// conn is a connection with its prepared statements. It belongs to one goroutine at
// a time.
type conn struct {
	raw   *sqlite.Conn
	stmts []*sqlite.Stmt
	// steps counts the executed statements.
	steps int
	// scratch is a buffer for bytes that are read and decoded at once.
	scratch []byte
	names   tables.Names
	// met counts damaged data that does not end a read; nil if it is not counted.
	met func(subject, error)
}

// connOptions are the options of a new connection.
type connOptions struct {
	path     string
	readOnly bool
	// frozen is set for a file that no process changes. SQLite then needs no files beside it.
	frozen bool
	// cache is the size of the page cache in bytes.
	cache int
}

// openToRead opens a file to read it, also in a folder that this process may not write: on a
// read-only disk, or of another user. There SQLite cannot make the files beside it. Without a
// write-ahead log no hub uses the file, so that it does not change.
func openToRead(path string, cache int) (*conn, error) {
	o := connOptions{path: path, readOnly: true, cache: cache}
	c, err := openConn(o)
	if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultCantOpen {
		return c, err
	}
	if _, none := os.Stat(path + "-wal"); !errors.Is(none, fs.ErrNotExist) {
		return nil, err
	}
	return openFrozen(path, cache)
}

// openFrozen opens a file that no process changes, without its write-ahead log.
func openFrozen(path string, cache int) (*conn, error) {
	path, err := filepath.Abs(path) // a URI has no relative path
	if err != nil {
		return nil, err
	}
	return openConn(connOptions{path: path, readOnly: true, frozen: true, cache: cache})
}

func openConn(o connOptions) (*conn, error) {
	flags := sqlite.OpenReadWrite
	if o.readOnly {
		flags = sqlite.OpenReadOnly
	}
	path := o.path
	if o.frozen {
		uri := url.URL{Scheme: "file", Path: path, RawQuery: "immutable=1"}
		path, flags = uri.String(), flags|sqlite.OpenURI
	}
	raw, err := sqlite.OpenConn(path, flags)
	if err != nil {
		return nil, err
	}
	raw.SetBusyTimeout(busyTimeout)
	c := &conn{raw: raw, stmts: make([]*sqlite.Stmt, len(queries))}
	// fullfsync matters on macOS only, where a plain fsync leaves data in the
	// drive.
	for _, p := range []string{
		fmt.Sprintf("cache_size = -%d", o.cache>>10),
		"synchronous = FULL",
		"fullfsync = ON",
		"checkpoint_fullfsync = ON",
		fmt.Sprintf("wal_autocheckpoint = %d", walPages),
		fmt.Sprintf("journal_size_limit = %d", maxWAL),
		"temp_store = MEMORY",
		"trusted_schema = OFF",
	} {
		if err := c.script("PRAGMA " + p); err != nil {
			c.close()
			return nil, fmt.Errorf("pragma %s: %w", p, err)
		}
	}
	return c, nil
}

func (c *conn) close() error { return c.raw.Close() }

// script runs statements that are executed once.
func (c *conn) script(text string) error {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		s, rest, err := c.raw.PrepareTransient(text)
		if err != nil {
			return err
		}
		if err := drain(s); err != nil {
			return err
		}
		text = text[len(text)-rest:]
	}
	return nil
}

// number returns the only value of a statement that is executed once.
func (c *conn) number(text string) (int64, error) {
	s, _, err := c.raw.PrepareTransient(text)
	if err != nil {
		return 0, err
	}
	defer s.Finalize()
	if _, err := s.Step(); err != nil {
		return 0, err
	}
	return s.ColumnInt64(0), nil
}

// texts returns the first column of all rows of a statement that is executed once.
func (c *conn) texts(text string) (all []string, err error) {
	s, _, err := c.raw.PrepareTransient(text)
	if err != nil {
		return nil, err
	}
	defer s.Finalize() //nolint:errcheck // its last step reports the error
	for {
		more, err := s.Step()
		if err != nil || !more {
			return all, err
		}
		all = append(all, s.ColumnText(0))
	}
}

// drain steps through s and finalizes it.
func drain(s *sqlite.Stmt) error {
	for {
		more, err := s.Step()
		if err != nil {
			s.Finalize()
			return err
		}
		if !more {
			return s.Finalize()
		}
	}
}
