// Package varint appends and reads the compact forms in which tasks are stored:
// numbers of variable length, and strings and bytes behind their lengths.
//
// A [Reader] belongs to one goroutine. It never panics and never allocates more than its
// input is long, whatever the input is.
package varint

import "encoding/binary"

// AppendBytes appends the length of s and s.
func AppendBytes[T ~string | ~[]byte](dst []byte, s T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// Reader takes values from the front of Left. Once a value is missing or malformed, Bad is
// set and all further values are zero. The zero Reader has nothing to read.
type Reader struct {
	Left []byte
	Bad  bool
}

// Byte returns the next byte.
func (r *Reader) Byte() byte {
	if r.Bad || len(r.Left) == 0 {
		r.Bad = true
		return 0
	}
	c := r.Left[0]
	r.Left = r.Left[1:]
	return c
}

// Uint returns a number that binary.AppendUvarint wrote.
func (r *Reader) Uint() uint64 {
	v, n := binary.Uvarint(r.Left)
	if r.Bad || n <= 0 {
		r.Bad = true
		return 0
	}
	r.Left = r.Left[n:]
	return v
}

// Int returns a number that binary.AppendVarint wrote.
func (r *Reader) Int() int64 {
	v := r.Uint()
	return int64(v>>1) ^ -int64(v&1)
}

// Count returns a number of items of at least least bytes each. A number of items that
// cannot follow is malformed, so that callers may allocate as many.
func (r *Reader) Count(least int) int {
	n := r.Uint()
	if n > uint64(len(r.Left)/least) {
		r.Bad = true
		return 0
	}
	return int(n)
}

// Bytes returns the bytes that AppendBytes wrote, aliasing the input; nil if there are
// none.
func (r *Reader) Bytes() []byte {
	n := r.Count(1)
	if n == 0 {
		return nil
	}
	b := r.Left[:n:n]
	r.Left = r.Left[n:]
	return b
}

// Done reports whether the whole input was read and well formed.
func (r *Reader) Done() bool { return !r.Bad && len(r.Left) == 0 }
