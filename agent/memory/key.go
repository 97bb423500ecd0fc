package memory

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of names.
const (
	// MaxKey is the length of the longest key in bytes.
	MaxKey = 512
	// MaxSegment is the length of the longest segment of a key in bytes.
	MaxSegment = 160
	// maxSegments is how many segments a key has at most.
	maxSegments = 16
)

// What is wrong with a note or a question for notes. Callers test with errors.Is.
var (
	// ErrKey: the key, or the beginning of one, is none.
	ErrKey = errors.New("not a key of a note")
	// ErrInvalid: another part of a note or of a question cannot be taken.
	ErrInvalid = errors.New("not acceptable")
	// ErrTooLarge: the text of a note is longer than it may be.
	ErrTooLarge = errors.New("note is too large")
	// ErrNotFound: the owner has no such note now.
	ErrNotFound = errors.New("no such note")
	// ErrForeign: the key is in a place that is not open to the caller.
	ErrForeign = errors.New("key is in another namespace")
)

// CheckKey reports what keeps a text from being a key: segments between slashes, none of
// them empty, "." or "..", of printable characters.
func CheckKey(key string) error {
	if key == "" {
		return fmt.Errorf("%w: it is empty; name it like session/main/plan", ErrKey)
	}
	return checkPath(key, key)
}

// CheckPrefix reports what keeps a text from being the beginning of a key. The empty one
// is the beginning of all.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	// What is begun may be continued.
	whole := prefix
	if strings.HasSuffix(prefix, "/") || strings.HasSuffix(prefix, "/.") || strings.HasSuffix(prefix, "/..") {
		whole += "x"
	}
	return checkPath(prefix, whole)
}

// checkPath checks whole, which stands for what the caller has said.
func checkPath(said, whole string) error {
	if len(said) > MaxKey {
		return fmt.Errorf("%w: it has %d bytes; the longest has %d", ErrKey, len(said), MaxKey)
	}
	if !utf8.ValidString(said) || strings.ContainsFunc(said, hidden) {
		return fmt.Errorf("%w: it has a character that cannot be printed", ErrKey)
	}
	segments := strings.Split(whole, "/")
	if len(segments) > maxSegments {
		return fmt.Errorf("%w: it has %d segments; %d are the most", ErrKey, len(segments), maxSegments)
	}
	for _, s := range segments {
		switch {
		case s == "":
			return fmt.Errorf("%w: %q has an empty segment; one slash between two names is enough", ErrKey, said)
		case s == "." || s == "..":
			return fmt.Errorf("%w: %q has the segment %q; write the whole key", ErrKey, said, s)
		case len(s) > MaxSegment:
			return fmt.Errorf("%w: a segment has %d bytes; the longest has %d", ErrKey, len(s), MaxSegment)
		}
	}
	return nil
}

func hidden(r rune) bool { return !unicode.IsPrint(r) }

// Namespace returns the namespace of a key: its first two segments. A key of two segments
// is in the namespace of the first one, and a single segment in the one without a name.
func Namespace(key string) string {
	s := strings.SplitN(key, "/", 3)
	return strings.Join(s[:min(len(s)-1, 2)], "/")
}

// Segment returns a text from elsewhere as one segment of a key: what cannot stand there
// is written as in URLs, and what is too long is cut. Different short texts stay
// different.
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

// maxForeign is the length of the longest segment that Segment makes: three of them leave
// room for the rest of a key.
const maxForeign = 128
