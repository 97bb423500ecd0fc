package blobstore

import (
	"bytes"
	"fmt"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// PartError says which part of a message or an artifact something is wrong with.
type PartError struct {
	// Index is the place of the part, from zero.
	Index int
	Err   error
}

// Error names the part.
func (e *PartError) Error() string { return fmt.Sprintf("part %d: %v", e.Index, e.Err) }

// Unwrap returns what is wrong.
func (e *PartError) Unwrap() error { return e.Err }

// TooLargeError says that a part is larger than what is stored.
type TooLargeError struct{ Size, Max int64 }

// Error says how large the part is and may be.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("has %d bytes, and at most %d are stored", e.Size, e.Max)
}

// Mentions reports whether a text may have an address of a part.
func Mentions(body []byte) bool { return bytes.Contains(body, []byte(Place)) }

// eachPart returns an object with what f appends in the place of each of its parts.
func eachPart(body []byte, f func(dst, part []byte) ([]byte, error)) ([]byte, error) {
	out := append(make([]byte, 0, len(body)/4), '{')
	for name, v := range rawjson.Fields(body) {
		if name != "parts" {
			out = appendMember(out, name, v)
			continue
		}
		out = append(appendMember(out, name, nil), '[')
		first := true
		for part := range rawjson.Elements(v) {
			if !first {
				out = append(out, ',')
			}
			first = false
			var err error
			if out, err = f(out, part); err != nil {
				return body, err
			}
		}
		out = append(out, ']')
	}
	return append(out, '}'), nil
}

// eachElement returns an array with f of each of its elements.
func eachElement(arr []byte, f func([]byte) []byte) []byte {
	if rawjson.KindOf(arr) != rawjson.Array {
		return arr
	}
	out := []byte{'['}
	for v := range rawjson.Elements(arr) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, f(v)...)
	}
	return append(out, ']')
}

// eachMember returns an object with f of the members of one name.
func eachMember(obj []byte, name string, f func([]byte) []byte) []byte {
	if rawjson.KindOf(obj) != rawjson.Object {
		return obj
	}
	out := []byte{'{'}
	for n, v := range rawjson.Fields(obj) {
		if n == name {
			v = f(v)
		}
		out = appendMember(out, n, v)
	}
	return append(out, '}')
}

// appendMember appends a member to an object that is open; without a value, its name alone.
func appendMember(b []byte, name string, value []byte) []byte {
	if len(b) > 1 {
		b = append(b, ',')
	}
	return append(append(rawjson.AppendString(b, name), ':'), value...)
}
