package blobstore

import (
	"bytes"
	"fmt"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// PartError is an error about one part of a message or artifact.
type PartError struct {
	// Index is the position of the part, from zero.
	Index int
	Err   error
}

// Error implements error. It names the part.
func (e *PartError) Error() string { return fmt.Sprintf("part %d: %v", e.Index, e.Err) }

// Unwrap returns Err.
func (e *PartError) Unwrap() error { return e.Err }

// TooLargeError reports a part that exceeds the maximum size. Both fields are in bytes.
type TooLargeError struct{ Size, Max int64 }

// Error implements error. It names both sizes.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("has %d bytes; the maximum is %d", e.Size, e.Max)
}

// Mentions reports whether a text may contain the address of a part.
func Mentions(body []byte) bool { return bytes.Contains(body, []byte(PathPrefix)) }

// eachPart returns an object in which each part is replaced by the output of f.
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

// eachElement returns an array with f applied to each element.
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

// eachMember returns an object with f applied to the members with one name.
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

// appendMember appends a member to an open object; if value is nil, only its name.
func appendMember(b []byte, name string, value []byte) []byte {
	if len(b) > 1 {
		b = append(b, ',')
	}
	return append(append(rawjson.AppendString(b, name), ':'), value...)
}
