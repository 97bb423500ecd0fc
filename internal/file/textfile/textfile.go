// Package textfile reads files that people write with any editor.
//
// # Guarantees
//
// A byte order mark of UTF-8, which editors on Windows write, is not part of the text. Text in
// UTF-16 is rejected by its name, and other text that is not UTF-8 with its line, instead of being
// read with replaced characters. Errors contain nothing of the content.
package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// ErrUTF16 is returned for a file in UTF-16.
var ErrUTF16 = errors.New("the file is UTF-16; save it as UTF-8")

// EncodingError is returned for text that is not UTF-8.
type EncodingError struct {
	// Line is the first such line, from 1.
	Line int
	// Byte is the first such byte.
	Byte byte
}

// Error implements error.
func (e *EncodingError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Problem()) }

// Problem returns the error without its line.
func (e *EncodingError) Problem() string {
	return fmt.Sprintf("the byte 0x%02x is not UTF-8; save the file as UTF-8", e.Byte)
}

// Unmarked returns src without a byte order mark.
func Unmarked(src []byte) ([]byte, error) {
	if bytes.HasPrefix(src, []byte("\xff\xfe")) || bytes.HasPrefix(src, []byte("\xfe\xff")) {
		return nil, ErrUTF16
	}
	return bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")), nil
}

// UTF8 returns src without a byte order mark. The error is ErrUTF16 or an *EncodingError.
func UTF8(src []byte) ([]byte, error) {
	// Without a mark, every second byte of ASCII in UTF-16 is zero.
	if len(src) > 1 && (src[0] == 0) != (src[1] == 0) {
		return nil, ErrUTF16
	}
	src, err := Unmarked(src)
	if err != nil || utf8.Valid(src) {
		return src, err
	}
	at := 0
	for at < len(src) {
		r, size := utf8.DecodeRune(src[at:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		at += size
	}
	return nil, &EncodingError{Line: 1 + bytes.Count(src[:at], []byte("\n")), Byte: src[at]}
}

// Read returns the content of the file at path without a byte order mark.
func Read(path string) ([]byte, error) {
	src, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	if src, err = Unmarked(src); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return src, nil
}
