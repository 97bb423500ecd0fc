package cli

import (
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// printable removes the characters that could control a terminal: control characters other than
// line feed and tab.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}

// escaped is a terminal that shows text from others. It removes the control characters that
// printable removes, and replaces bytes that are no UTF-8. A character that is split over two
// writes is written with the second. It is safe for concurrent use.
type escaped struct {
	w io.Writer

	mu   sync.Mutex
	rest []byte // the beginning of a character
}

// Write implements io.Writer.
func (e *escaped) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := p
	if len(e.rest) > 0 {
		text = slices.Concat(e.rest, p)
	}
	whole := len(text) - partial(text)
	e.rest = slices.Clone(text[whole:])
	if _, err := io.WriteString(e.w, printable(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// partial returns the number of bytes at the end of text that are the beginning of a character.
func partial(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return n
			}
			break
		}
	}
	return 0
}

// guarded returns o with writers that remove control characters: of Stderr always, because it is
// a terminal more often than not, and of Stdout if it is a terminal. Other output keeps every
// byte.
func (o OS) guarded() OS {
	if o.Terminal {
		o.Stdout = &escaped{w: o.Stdout}
	}
	o.Stderr = &escaped{w: o.Stderr}
	return o
}

// drawing returns the writer for a drawing, which controls the terminal. Text from others in it
// must be printable.
func (o *OS) drawing() io.Writer {
	if e, ok := o.Stdout.(*escaped); ok {
		return e.w
	}
	return o.Stdout
}

// maxFileName is the maximum length of the name of a saved file in bytes, without the number
// that makes it unique. File systems that encrypt names allow 143 bytes.
const maxFileName = 128

// maxExtension is the maximum length of the extension that a long name keeps, in bytes.
const maxExtension = 32

// fileName returns a safe name for a file that another agent has named: the last element of its
// path without control characters, without characters that change the direction of text, on one
// line, neither hidden nor like a flag, and at most maxFileName bytes long. The extension
// remains. If nothing remains of name, fileName returns "file".
func fileName(name string) string {
	base := path.Base(path.Clean("/" + strings.ReplaceAll(name, `\`, "/")))
	base = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, base)
	base = strings.TrimRight(strings.TrimLeft(base, "/.- "), " ")
	if base == "" {
		return "file"
	}
	stem, ext := splitExtension(base)
	if room := maxFileName - len(ext); len(stem) > room {
		stem = strings.TrimRight(strings.ToValidUTF8(stem[:room], ""), " ")
	}
	return stem + ext
}

// splitExtension splits the name of a file before its extension. An extension that is longer
// than maxExtension belongs to the name.
func splitExtension(name string) (stem, ext string) {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 || len(name)-i > maxExtension {
		return name, ""
	}
	return name[:i], name[i:]
}
