package sqlitestore

import (
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
)

// stmt is one execution of a prepared statement: values are bound in order, then rows are read
// column by column in order. Errors are kept until the end. It is used as a value on the stack,
// so that an execution allocates no memory.
type stmt struct {
	conn *conn
	raw  *sqlite.Stmt
	// at is the number of the value bound last, or of the column read last.
	at  int
	err error
}

// start begins an execution of q.
func (c *conn) start(q query) stmt {
	raw := c.stmts[q]
	if raw == nil {
		var err error
		if raw, err = c.raw.Prepare(queries[q]); err != nil {
			return stmt{err: err}
		}
		c.stmts[q] = raw
	}
	return stmt{conn: c, raw: raw}
}

// run executes a statement without values.
func (c *conn) run(q query) error {
	s := c.start(q)
	return s.done()
}

// These methods bind one more value.

func (s *stmt) int(v int64) {
	if s.err == nil {
		s.at++
		s.raw.BindInt64(s.at, v)
	}
}

func (s *stmt) bool(v bool) {
	if v {
		s.int(1)
	} else {
		s.int(0)
	}
}

func (s *stmt) text(v string) {
	if s.err == nil {
		s.at++
		s.raw.BindText(s.at, v)
	}
}

// blob binds v, or NULL if v is nil.
func (s *stmt) blob(v []byte) {
	if s.err != nil {
		return
	}
	s.at++
	if v == nil {
		s.raw.BindNull(s.at)
		return
	}
	s.raw.BindBytes(s.at, v)
}

// next moves to the next row. After it has returned false, the execution has ended, and err is
// its error.
func (s *stmt) next() bool {
	if s.err != nil {
		return false
	}
	s.at = -1
	more, err := s.raw.Step()
	if err == nil && more {
		return true
	}
	s.conn.steps++
	s.err = err
	if err == nil {
		s.err = s.raw.Reset()
	}
	return false
}

// close ends an execution with unread rows.
func (s *stmt) close() {
	if s.raw != nil && s.err == nil {
		s.conn.steps++
		s.err = s.raw.Reset()
	}
}

// done executes a statement that returns no rows.
func (s *stmt) done() error {
	for s.next() {
	}
	return s.err
}

// changed executes a statement and returns the number of rows it changed.
func (s *stmt) changed() (int, error) {
	if err := s.done(); err != nil {
		return 0, err
	}
	return s.conn.raw.Changes(), nil
}

// only executes a statement that returns one row with one number.
func (s *stmt) only() (int64, error) {
	if !s.next() {
		if s.err == nil {
			s.err = fmt.Errorf("no row")
		}
		return 0, s.err
	}
	n := s.Int()
	s.close()
	return n, s.err
}

// These methods return the next column of the row.

func (s *stmt) Int() int64 {
	s.at++
	return s.raw.ColumnInt64(s.at)
}

func (s *stmt) Text() string {
	s.at++
	return s.raw.ColumnText(s.at)
}

// Blob returns a copy, or nil for NULL.
func (s *stmt) Blob() []byte {
	s.at++
	n := s.raw.ColumnLen(s.at)
	if n == 0 {
		if s.raw.ColumnIsNull(s.at) {
			return nil
		}
		return []byte{}
	}
	b := make([]byte, n)
	s.raw.ColumnBytes(s.at, b)
	return b
}

// appendBlob appends the next column to b.
func (s *stmt) appendBlob(b []byte) []byte {
	s.at++
	n, size := len(b), s.raw.ColumnLen(s.at)
	b = slices.Grow(b, size)[:n+size]
	s.raw.ColumnBytes(s.at, b[n:])
	return b
}

// peekBlob is like Blob, but returns a buffer that is valid until the next call.
func (s *stmt) peekBlob() []byte {
	s.at++
	n := s.raw.ColumnLen(s.at)
	b := slices.Grow(s.conn.scratch[:0], n)[:n]
	s.raw.ColumnBytes(s.at, b)
	s.conn.scratch = sqlstore.Kept(b)
	return b
}
