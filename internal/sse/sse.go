// Package sse reads and sends server-sent events (the event stream of the HTML standard).
//
// Lines end with LF or CRLF. A reader holds at most one event, whose size is bounded.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxID is the maximum length of the ids that are kept, in bytes.
const maxID = 256

// ErrTooLarge means that an event is larger than the limit of its reader.
var ErrTooLarge = errors.New("event too large")

// Event is one event with data.
type Event struct {
	// ID is the id of the event. It is empty if the event has none, or one that a header cannot
	// carry.
	ID string
	// Type is the type; empty means "message".
	Type string
	// Data is the data; its lines are separated by line feeds.
	Data []byte
}

// Reader reads the events of a stream. It is not safe for concurrent use.
type Reader struct {
	lines *bufio.Reader
	limit int64
	alive func()
}

// NewReader returns a reader of events whose data is at most limit bytes. If alive is not nil,
// it is called with each line, comments included.
func NewReader(stream io.Reader, limit int64, alive func()) *Reader {
	if alive == nil {
		alive = func() {}
	}
	return &Reader{lines: bufio.NewReaderSize(stream, 16<<10), limit: limit, alive: alive}
}

// Feed is a writer that calls a function with the events of the stream that is written to it. It
// keeps an incomplete event alone, so that an idle stream needs no buffer. It is not safe for
// concurrent use.
type Feed struct {
	// Limit is the maximum size of an event in bytes.
	Limit int64
	// Event is called with each event during Write. An error is returned from this Write.
	Event func(e Event) error

	pending []byte
}

// Write implements io.Writer. The error is ErrTooLarge for an event over the limit, or that of
// Event.
func (f *Feed) Write(b []byte) (int, error) {
	rest := b
	if f.pending != nil {
		f.pending = append(f.pending, b...)
		rest = f.pending
	}
	from := max(0, len(rest)-len(b)-1) // the line feeds may be in two writes
	if i := bytes.LastIndex(rest[from:], []byte("\n\n")); i >= 0 {
		end := from + i + 2
		if err := f.events(rest[:end]); err != nil {
			return 0, err
		}
		rest, f.pending = rest[end:], nil
	}
	if int64(len(rest)) > f.Limit {
		return 0, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, f.Limit)
	}
	if f.pending == nil {
		f.pending = append(f.pending, rest...)
	}
	return len(b), nil
}

// events calls Event with complete events.
func (f *Feed) events(b []byte) error {
	r := &Reader{lines: bufio.NewReaderSize(bytes.NewReader(b), min(len(b), 16<<10)), limit: f.Limit, alive: func() {}}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f.Event(e)
		}
		if err != nil {
			return err
		}
	}
}

// Next returns the next event with data. A last event without a following empty line is
// incomplete and not returned. The error is io.EOF at the end of the stream, ErrTooLarge for a
// larger event, and otherwise that of the stream.
func (r *Reader) Next() (Event, error) {
	var e Event
	data := false
	for {
		line, err := r.line(r.limit - int64(len(e.Data)))
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if data {
				return e, nil
			}
			e.ID, e.Type = "", ""
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if data {
				e.Data = append(e.Data, '\n')
			}
			data = true
			e.Data = append(e.Data, value...)
		case "event":
			e.Type = string(value)
		case "id":
			e.ID = ""
			if usableID(value) {
				e.ID = string(value)
			}
		}
	}
}

// line returns a line without its end. A short line aliases the reader's buffer, so it must be
// used before the next call.
func (r *Reader) line(limit int64) ([]byte, error) {
	line, err := r.lines.ReadSlice('\n')
	var whole []byte
	for errors.Is(err, bufio.ErrBufferFull) {
		whole = append(whole, line...)
		if int64(len(whole)) > limit {
			return nil, r.tooLarge()
		}
		line, err = r.lines.ReadSlice('\n')
	}
	if err != nil {
		return nil, err
	}
	r.alive()
	if whole != nil {
		line = append(whole, line...)
	}
	if int64(len(line)) > limit+int64(len("data: \r\n")) {
		return nil, r.tooLarge()
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

func (r *Reader) tooLarge() error {
	return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, r.limit)
}

// usableID reports whether id can be sent as a header.
func usableID(id []byte) bool {
	for _, b := range id {
		if b < ' ' || b > '~' {
			return false
		}
	}
	return len(id) <= maxID
}
