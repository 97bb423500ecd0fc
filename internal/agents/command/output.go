package command

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

const (
	// maxHeld is the largest number of newlines at the end of a chunk that are held back, so
	// that there is content for closing the artifact.
	maxHeld = 8
	// maxTail is the number of bytes of standard error that are kept.
	maxTail = 2 << 10
)

// output converts the output of a program to chunks of one artifact. The zero value is ready to
// use.
type output struct {
	id a2a.ArtifactID
	// held was written, but not passed on: newlines, the beginning of a rune, or all output
	// since it was found to be binary.
	held   []byte
	binary bool
	// pending may be passed on, but is held for a moment, so that the answer of a program that
	// ends then is one piece.
	pending string
	// text is the whole text, because a program that ends with ExitInput asks with it.
	text strings.Builder
}

// push adds b and returns the text to pass on now, which may be empty: the previously pending
// text. It never ends within a rune.
func (o *output) push(b []byte) string {
	o.held = append(o.held, b...)
	if o.binary {
		return ""
	}
	n := wholeRunes(o.held)
	if !isText(o.held[:n]) {
		o.binary = true
		return o.flush()
	}
	trimmed := bytes.TrimRight(o.held[:n], "\n")
	n = max(len(trimmed), n-maxHeld)
	text := string(o.held[:n])
	o.held = append(o.held[:0], o.held[n:]...)
	o.text.WriteString(text)
	if text == "" {
		return ""
	}
	before := o.flush()
	o.pending = text
	return before
}

// flush removes and returns the pending text.
func (o *output) flush() string {
	text := o.pending
	o.pending = ""
	return text
}

// end is called after the last push. It returns the text to pass on before last, which may be
// empty.
func (o *output) end() string {
	if o.binary || !isText(o.held) {
		o.binary = true
		return o.flush()
	}
	return ""
}

// chunk returns the event for another piece of text.
func (o *output) chunk(ec *a2asrv.ExecutorContext, text string) *a2a.TaskArtifactUpdateEvent {
	return o.event(ec, a2a.NewTextPart(text))
}

// last returns the event that closes the artifact, or nil if no output is left, because a part
// must have content. It is called after end.
func (o *output) last(ec *a2asrv.ExecutorContext) *a2a.TaskArtifactUpdateEvent {
	if o.pending == "" && len(o.held) == 0 {
		return nil
	}
	part := a2a.NewTextPart(o.flush() + string(o.held))
	if o.binary {
		part = a2a.NewRawPart(o.held)
		part.MediaType = "application/octet-stream"
	}
	e := o.event(ec, part)
	e.LastChunk = true
	return e
}

func (o *output) event(ec *a2asrv.ExecutorContext, part *a2a.Part) *a2a.TaskArtifactUpdateEvent {
	if o.id != "" {
		return a2a.NewArtifactUpdateEvent(ec, o.id, part)
	}
	e := a2a.NewArtifactEvent(ec, part)
	e.Artifact.Name = "output"
	o.id = e.Artifact.ID
	return e
}

// question returns the output without the newlines at its end. It is called after last.
func (o *output) question() string { return strings.TrimRight(o.text.String(), "\n") }

// wholeRunes returns the length of b without an incomplete rune at its end.
func wholeRunes(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if tail := b[len(b)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return len(b) - i
			}
			break
		}
	}
	return len(b)
}

// isText reports whether b is text that JSON and every store can hold: UTF-8 without zero
// bytes.
func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// tail keeps the last maxTail bytes written to it.
type tail struct{ b []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p[max(0, len(p)-maxTail):]...)
	if extra := len(t.b) - maxTail; extra > 0 {
		t.b = append(t.b[:0], t.b[extra:]...)
	}
	return len(p), nil
}

// text returns the tail as printable text: valid UTF-8 without control characters, which could
// move a terminal's cursor.
func (t *tail) text() string {
	b := t.b
	for len(b) > 0 && len(t.b) == maxTail && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	shown := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(b), "\uFFFD"))
	return strings.TrimSpace(shown)
}
