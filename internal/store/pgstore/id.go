package pgstore

import (
	"encoding/hex"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

// uuidLen is the length of a UUID as text.
const uuidLen = 36

// uuidBytes are the positions of each byte's digits in the text.
var uuidBytes = [16]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34}

// packUUID returns the bytes of a UUID in its canonical form: lower case, with hyphens. It
// refuses all other texts.
func packUUID(s string) (b [16]byte, ok bool) {
	if len(s) != uuidLen || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return b, false
	}
	for i, at := range uuidBytes {
		hi, lo := nibbles[s[at]], nibbles[s[at+1]]
		if hi|lo > 15 {
			return b, false
		}
		b[i] = hi<<4 | lo
	}
	return b, true
}

// nibbles are the values of the lower case hexadecimal digits; 255 means none.
var nibbles = func() (t [256]byte) {
	for i := range t {
		t[i] = 255
	}
	for i, c := range "0123456789abcdef" {
		t[c] = byte(i)
	}
	return t
}()

// unpackUUID is the opposite of packUUID.
func unpackUUID(b *[16]byte) string {
	var s [uuidLen]byte
	hex.Encode(s[:], b[:4])
	hex.Encode(s[9:], b[4:6])
	hex.Encode(s[14:], b[6:8])
	hex.Encode(s[19:], b[8:10])
	hex.Encode(s[24:], b[10:])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

// idUUID and idText are the first bytes of stored ids. The empty id is stored as no bytes.
const idUUID, idText = 0, 't'

// id binds an id that callers or the hub have chosen: the bytes of a UUID, or else its text.
func (s *stmt) id(v string) {
	if v == "" {
		s.blob([]byte{})
		return
	}
	b, ok := packUUID(v)
	if !ok {
		s.blob(append([]byte{idText}, v...))
		return
	}
	s.blob(append([]byte{idUUID}, b[:]...))
}

// getID reads an id that id has bound.
func (s *stmt) getID() string {
	b := s.getBlob()
	switch {
	case len(b) == 0:
		return ""
	case b[0] == idText:
		return string(b[1:])
	case len(b) == 1+16:
		return unpackUUID((*[16]byte)(b[1:]))
	}
	if s.err == nil {
		s.err = fmt.Errorf("id: %w", task.ErrCorrupt)
	}
	return ""
}
