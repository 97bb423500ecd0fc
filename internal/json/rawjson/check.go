package rawjson

import (
	"fmt"
	"unicode/utf8"
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
	s := checker{b: b}
	if !utf8.Valid(b) {
		s.fail(invalidUTF8(b), "invalid UTF-8")
		return s.err
	}
	i := s.value(skipSpace(b, 0), maxDepth)
	if i >= 0 {
		if i = skipSpace(b, i); i < len(b) {
			s.fail(i, "unexpected data after the value")
		}
	}
	if s.err != nil {
		return s.err
	}
	return nil
}

func invalidUTF8(b []byte) int {
	i := 0
	for i < len(b) {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			break
		}
		i += n
	}
	return i
}

// checker walks over b. Its methods take the start index of a token and return the index after
// it, or -1 after they set err.
type checker struct {
	b   []byte
	err *SyntaxError
}

func (s *checker) fail(i int, problem string) int {
	if i >= len(s.b) && problem != "invalid UTF-8" {
		problem = "unexpected end"
	}
	s.err = &SyntaxError{Offset: int64(min(i, len(s.b))), Problem: problem}
	return -1
}

// at returns the byte at i, or zero past the end; no JSON token contains zero.
func (s *checker) at(i int) byte {
	if i < len(s.b) {
		return s.b[i]
	}
	return 0
}

func (s *checker) value(i, depth int) int {
	switch c := s.at(i); c {
	case '"':
		return s.str(i)
	case '{', '[':
		if depth <= 0 {
			return s.fail(i, "nested too deep")
		}
		if c == '{' {
			return s.object(i, depth-1)
		}
		return s.array(i, depth-1)
	case 't':
		return s.literal(i, "true")
	case 'f':
		return s.literal(i, "false")
	case 'n':
		return s.literal(i, "null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return s.number(i)
	}
	return s.fail(i, "expected a value")
}

func (s *checker) object(i, depth int) int {
	i = skipSpace(s.b, i+1)
	if s.at(i) == '}' {
		return i + 1
	}
	for {
		if s.at(i) != '"' {
			return s.fail(i, "expected a member name")
		}
		if i = s.str(i); i < 0 {
			return i
		}
		if i = skipSpace(s.b, i); s.at(i) != ':' {
			return s.fail(i, "expected a colon")
		}
		if i = s.value(skipSpace(s.b, i+1), depth); i < 0 {
			return i
		}
		i = skipSpace(s.b, i)
		switch s.at(i) {
		case ',':
			i = skipSpace(s.b, i+1)
		case '}':
			return i + 1
		default:
			return s.fail(i, "expected a comma or the end of the object")
		}
	}
}

func (s *checker) array(i, depth int) int {
	i = skipSpace(s.b, i+1)
	if s.at(i) == ']' {
		return i + 1
	}
	for {
		if i = s.value(i, depth); i < 0 {
			return i
		}
		i = skipSpace(s.b, i)
		switch s.at(i) {
		case ',':
			i = skipSpace(s.b, i+1)
		case ']':
			return i + 1
		default:
			return s.fail(i, "expected a comma or the end of the array")
		}
	}
}

func (s *checker) literal(i int, word string) int {
	end := i + len(word)
	if end <= len(s.b) && string(s.b[i:end]) == word {
		return end
	}
	for j := range len(word) {
		if s.at(i+j) != word[j] {
			return s.fail(i+j, "expected "+word)
		}
	}
	return end
}

func (s *checker) number(i int) int {
	if s.at(i) == '-' {
		i++
	}
	if s.at(i) == '0' {
		i++
	} else if i = s.digits(i); i < 0 {
		return i
	}
	if s.at(i) == '.' {
		if i = s.digits(i + 1); i < 0 {
			return i
		}
	}
	if c := s.at(i); c == 'e' || c == 'E' {
		i++
		if c := s.at(i); c == '+' || c == '-' {
			i++
		}
		return s.digits(i)
	}
	return i
}

// digits skips one or more digits.
func (s *checker) digits(i int) int {
	start := i
	for c := s.at(i); '0' <= c && c <= '9'; c = s.at(i) {
		i++
	}
	if i == start {
		return s.fail(i, "expected a digit")
	}
	return i
}

func (s *checker) str(i int) int {
	i++
	for {
		i = skipPlain(s.b, i)
		switch c := s.at(i); {
		case i >= len(s.b):
			return s.fail(i, "unexpected end")
		case c == '"':
			return i + 1
		case c == '\\':
			if i = s.escape(i); i < 0 {
				return i
			}
		default:
			return s.fail(i, "control character in a string")
		}
	}
}

func (s *checker) escape(i int) int {
	switch s.at(i + 1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		return s.unicode(i)
	}
	return s.fail(i+1, "unknown escape")
}

func (s *checker) unicode(i int) int {
	r, ok := hex4(s.b, i+2)
	switch {
	case !ok:
		return s.fail(i, "expected four hexadecimal digits")
	case !isSurrogate(r):
		return i + 6
	}
	if low, ok := escapedRune(s.b, i+6); ok && isPair(r, low) {
		return i + 12
	}
	return s.fail(i, "unpaired surrogate")
}
