package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// SyntaxError describes where and why a text is not acceptable JSON.
type SyntaxError struct {
	// Offset is the number of bytes before the problem.
	Offset int64
	// Problem is a phrase for error messages, such as "unexpected end".
	Problem string
}

// Error returns the problem and its offset.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON: %s at byte %d", e.Problem, e.Offset)
}

// Check reports whether b is exactly one JSON value, which white space may
// surround. Arrays and objects may be nested maxDepth deep; zero allows scalars
// only. The error is a *SyntaxError.
func Check(b []byte, maxDepth int) error {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = skipString(b, i) - 1
		case '{', '[':
			if depth++; depth > maxDepth {
				return &SyntaxError{int64(i), "nested too deep"}
			}
		case '}', ']':
			depth--
		}
	}
	if !jsontext.Value(b).IsValid(anyNames) {
		return problem(b)
	}
	return nil
}

// anyNames lets an object have a name twice: the dialects decide which one counts.
var anyNames = jsontext.AllowDuplicateNames(true)

// problem returns the first error in a text.
func problem(b []byte) *SyntaxError {
	d := jsontext.NewDecoder(bytes.NewReader(b), anyNames)
	_, err := d.ReadValue()
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil:
		return &SyntaxError{int64(skipSpace(b, int(d.InputOffset()))), "unexpected data after the value"}
	case !errors.Is(err, io.ErrUnexpectedEOF) && errors.As(err, &syntax):
		return &SyntaxError{syntax.ByteOffset, syntax.Err.Error()}
	}
	return &SyntaxError{int64(len(b)), "unexpected end"}
}
