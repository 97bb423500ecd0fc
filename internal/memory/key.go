package memory

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of keys.
const (
	// MaxKey is the maximum length of a key in bytes.
	MaxKey = 512
	// MaxSegment is the maximum length of a segment of a key in bytes.
	MaxSegment = 160
	// maxSegments is the maximum number of segments of a key.
	maxSegments = 16
)

// Errors about notes and queries. Callers test for them with errors.Is.
var (
	// ErrKey is returned for an invalid key or prefix.
	ErrKey = errors.New("not a key of a note")
	// ErrInvalid is returned for another invalid part of a note or query.
	ErrInvalid = errors.New("not acceptable")
	// ErrTooLarge is returned if the text of a note exceeds the limit.
	ErrTooLarge = errors.New("note is too large")
	// ErrNotFound is returned if the owner has no such note, or it has expired.
	ErrNotFound = errors.New("no such note")
)

// CheckKey returns an error that wraps ErrKey if a text is not a valid key: non-empty segments
// of printable characters, other than "." and "..", separated by slashes.
func CheckKey(key string) error {
	if key == "" {
		return fmt.Errorf("%w: it is empty; name it like session/main/plan", ErrKey)
	}
	return checkPath(key, key)
}

// CheckPrefix returns an error that wraps ErrKey if no key can begin with a text. The empty
// prefix is valid.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	// An incomplete last segment may be completed.
	whole := prefix
	if strings.HasSuffix(prefix, "/") || strings.HasSuffix(prefix, "/.") || strings.HasSuffix(prefix, "/..") {
		whole += "x"
	}
	return checkPath(prefix, whole)
}

// checkPath checks whole, which stands for the caller's text said.
func checkPath(text, whole string) error {
	if len(text) > MaxKey {
		return fmt.Errorf("%w: it has %d bytes; the maximum is %d", ErrKey, len(text), MaxKey)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, hidden) {
		return fmt.Errorf("%w: it has a character that cannot be printed", ErrKey)
	}
	segments := strings.Split(whole, "/")
	if len(segments) > maxSegments {
		return fmt.Errorf("%w: it has %d segments; the maximum is %d", ErrKey, len(segments), maxSegments)
	}
	for _, s := range segments {
		switch {
		case s == "":
			return fmt.Errorf("%w: %q has an empty segment; one slash between two names is enough", ErrKey, text)
		case s == "." || s == "..":
			return fmt.Errorf("%w: %q has the segment %q; write the whole key", ErrKey, text, s)
		case len(s) > MaxSegment:
			return fmt.Errorf("%w: a segment has %d bytes; the maximum is %d", ErrKey, len(s), MaxSegment)
		}
	}
	return nil
}

func hidden(r rune) bool { return !unicode.IsPrint(r) }

// Namespace returns the namespace of a key: its first two segments. A key of two segments
// belongs to the namespace of its first segment, and a single segment to the empty namespace.
func Namespace(key string) string {
	s := strings.SplitN(key, "/", 3)
	return strings.Join(s[:min(len(s)-1, 2)], "/")
}

// Segment encodes an arbitrary text as one segment of a key. Invalid characters are
// percent-encoded, and long texts are cut. Different short texts give different segments.
func Segment(text string) string {
	if text == "" {
		return "%"
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		plain := r != '/' && r != '%' && !(r == utf8.RuneError && n == 1) && !hidden(r) && r != ' '
		if (text == "." || text == "..") && r == '.' {
			plain = false
		}
		piece := text[i : i+n]
		if !plain {
			piece = ""
			for j := range n {
				piece += fmt.Sprintf("%%%02X", text[i+j])
			}
		}
		if b.Len()+len(piece) > maxForeign {
			break
		}
		b.WriteString(piece)
		i += n
	}
	return b.String()
}

// maxForeign is the maximum length of the result of Segment: three of them leave room for the
// rest of a key.
const maxForeign = 128
