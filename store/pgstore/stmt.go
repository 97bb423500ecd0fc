package pgstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/internal/task"
)

// stmt is one execution of a prepared statement: values are bound in order, then rows are read
// column by column in order. Errors are kept until the end. The values of one statement are bound
// before those of the next one.
type stmt struct {
	conn *conn
	q    query
	ran  *reply
	left [][][]byte // the rows that were not read
	row  [][]byte
	// at is the number of the column read last.
	at  int
	err error
}

// Types of values and columns. Texts are bytes, so that the encoding and the collation of the
// database have no effect, and a text may contain a zero byte.
const (
	typeInt   = 20
	typeBytes = 17
	typeInts  = 1016
)

// start begins an execution of q.
func (c *conn) start(q query) stmt {
	c.values, c.types = c.values[:0], c.types[:0]
	return stmt{conn: c, q: q}
}

// run executes a statement without values.
func (c *conn) run(q query) error {
	s := c.start(q)
	return s.done()
}

// These methods bind one more value.

func (s *stmt) int(v int64) {
	c := s.conn
	b := c.numbers[len(c.values)][:]
	binary.BigEndian.PutUint64(b, uint64(v))
	c.values, c.types = append(c.values, b), append(c.types, typeInt)
}

// ints binds an array.
func (s *stmt) ints(all []int64) {
	// Dimensions, no NULL, type of elements; then length and first index of the dimension.
	b := make([]byte, 0, 20+12*len(all))
	for _, n := range [...]uint32{1, 0, typeInt, uint32(len(all)), 1} {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	for _, v := range all {
		b = binary.BigEndian.AppendUint32(b, 8)
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	c := s.conn
	c.values, c.types = append(c.values, b), append(c.types, typeInts)
}

func (s *stmt) bool(v bool) {
	if v {
		s.int(1)
	} else {
		s.int(0)
	}
}

func (s *stmt) text(v string) { s.blob([]byte(v)) }

// blob binds v, or NULL if v is nil. v must not change until the statement was executed or sent.
func (s *stmt) blob(v []byte) {
	c := s.conn
	c.values, c.types = append(c.values, v), append(c.types, typeBytes)
}

// next moves to the next row. After it has returned false, err is the error of the execution.
func (s *stmt) next() bool {
	if s.err == nil && s.ran == nil {
		if s.ran, s.err = s.conn.exec(s.q); s.err == nil {
			s.left = s.ran.rows
		}
	}
	if s.err != nil || len(s.left) == 0 {
		return false
	}
	s.row, s.left, s.at = s.left[0], s.left[1:], -1
	return true
}

// done executes a statement without rows. In a pipeline, it only sends the statement: an error of
// the execution is returned by a later call.
func (s *stmt) done() error {
	if s.conn.pipe != nil {
		_, err := s.conn.send(s.q)
		return err
	}
	s.next()
	return s.err
}

// changed executes a statement and returns the number of rows it changed.
func (s *stmt) changed() (int, error) {
	s.next()
	if s.err != nil {
		return 0, s.err
	}
	return int(s.ran.changed), nil
}

// only executes a statement that returns one row with one number.
func (s *stmt) only() (int64, error) {
	if !s.next() {
		if s.err == nil {
			s.err = errors.New("no row")
		}
		return 0, s.err
	}
	return s.Int(), s.err
}

// These methods return the next column of the row.

func (s *stmt) Int() int64 {
	b := s.Blob()
	switch len(b) {
	case 8:
		return int64(binary.BigEndian.Uint64(b))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(b)))
	case 2:
		return int64(int16(binary.BigEndian.Uint16(b)))
	}
	if s.err == nil {
		s.err = fmt.Errorf("column %d of statement %d is not a number: %w", s.at, s.q, task.ErrCorrupt)
	}
	return 0
}

func (s *stmt) getBool() bool { return s.Int() != 0 }

func (s *stmt) Text() string { return string(s.Blob()) }

// Blob returns bytes that the caller may keep, or nil for NULL.
func (s *stmt) Blob() []byte {
	s.at++
	return s.row[s.at]
}

// getTime returns the zero time for 0.
func (s *stmt) getTime() time.Time {
	ms := s.Int()
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
