package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// lastEventID is the header with which a reader of server-sent events comes back.
const lastEventID = "Last-Event-ID"

// maxEventID bounds the ids that are kept, in bytes.
const maxEventID = 256

// errNothingLeft: there are no events after the position, and there will be none.
var errNothingLeft = errors.New("nothing left to stream")

// Position is a place in the stream of a task.
type Position struct {
	// Task is the task.
	Task a2a.TaskID
	// EventID is the id that the agent gave to the last event before the position.
	// Empty means that there is none: no event was seen, the binding is not HTTP, or
	// the agent gives no ids.
	EventID string
}

// Cut is the error of a stream that ended before its task did. It is ErrCut.
type Cut struct {
	// Position is where the stream broke, for Follow. Its Task is empty if no event
	// named one.
	Position
	// Err is what broke the connection, or nil if the agent closed it in good order.
	Err error
}

// Error says that the stream was cut, and why.
func (c *Cut) Error() string {
	if c.Err == nil {
		return ErrCut.Error()
	}
	return ErrCut.Error() + ": " + c.Err.Error()
}

// Unwrap returns ErrCut and what broke the connection.
func (c *Cut) Unwrap() []error {
	if c.Err == nil {
		return []error{ErrCut}
	}
	return []error{ErrCut, c.Err}
}

// cursor is the id of the last event of a stream that its reader has taken. The
// SDK's client neither shows ids nor sends them, so the cursor travels in the
// context of the call, from which wire takes it. It is not safe for concurrent use:
// the call and the reader of its stream are one goroutine.
type cursor struct{ id string }

type cursorKey struct{}

func withCursor(ctx context.Context, c *cursor) context.Context {
	return context.WithValue(ctx, cursorKey{}, c)
}

func cursorFrom(ctx context.Context) *cursor {
	c, _ := ctx.Value(cursorKey{}).(*cursor)
	return c
}

// comeBack returns req with the id after which its stream has to go on.
func comeBack(req *http.Request) *http.Request {
	c := cursorFrom(req.Context())
	if c == nil || c.id == "" {
		return req
	}
	req = req.Clone(req.Context())
	req.Header.Set(lastEventID, c.id)
	return req
}

// marked is the body of a stream that moves a cursor. It gives out one line at a
// time. Who asks for more after the end of an event has taken that event; so the
// cursor never passes one that the reader could not use.
type marked struct {
	io.Closer
	lines *bufio.Reader
	at    *cursor

	rest  []byte     // what is left of the line that is given out
	err   error      // what comes after rest
	inner bool       // the next bytes go on with a line
	event eventLines // the event that is being given out
}

// eventLines is what the lines of an event have said so far.
type eventLines struct {
	id          string
	named, data bool
	whole       bool // the event is complete
}

func newMarked(body io.ReadCloser, at *cursor) *marked {
	return &marked{Closer: body, lines: bufio.NewReaderSize(body, 16<<10), at: at}
}

// Read implements io.Reader.
func (m *marked) Read(p []byte) (int, error) {
	if len(m.rest) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		m.next()
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	if len(m.rest) == 0 && n == 0 {
		return 0, m.err
	}
	return n, nil
}

// next reads a line, or a piece of one that is long.
func (m *marked) next() {
	if m.event.whole {
		m.at.id = m.event.id
		m.event = eventLines{}
	}
	m.rest, m.err = m.lines.ReadSlice('\n')
	if errors.Is(m.err, bufio.ErrBufferFull) {
		m.err = nil
	}
	whole := bytes.HasSuffix(m.rest, []byte("\n"))
	if !m.inner {
		m.field(bytes.TrimRight(m.rest, "\r\n"), whole)
	}
	m.inner = !whole
}

// field notes what a line says; whole is false for the beginning of a long line. An
// event without an id leaves no place to come back to: if several events have one
// id, the last of them carries it.
func (m *marked) field(line []byte, whole bool) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch {
	case len(line) == 0 && whole:
		m.event.whole = m.event.named || m.event.data
	case string(name) == "data":
		m.event.data = true
	case string(name) == "id":
		m.event.named = true
		m.event.id = ""
		if id := bytes.TrimPrefix(value, []byte(" ")); whole && usableID(id) {
			m.event.id = string(id)
		}
	}
}

// usableID reports whether id can be sent back as a header.
func usableID(id []byte) bool {
	for _, b := range id {
		if b < ' ' || b > '~' {
			return false
		}
	}
	return len(id) <= maxEventID
}
