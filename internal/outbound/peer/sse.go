package peer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// maxEventID bounds the event ids that are kept, in bytes.
const maxEventID = 256

// errIdle is the cause of the end of a silent stream.
var errIdle = errors.New("the stream is silent")

// message is one server-sent event.
type message struct {
	data []byte
	id   string
}

// sse reads server-sent events. It is not safe for concurrent use.
type sse struct {
	lines    *bufio.Reader
	maxEvent int64
	alive    func() // called with each line, comments included
}

func newSSE(body io.Reader, maxEvent int64, alive func()) *sse {
	return &sse{lines: bufio.NewReaderSize(body, 16<<10), maxEvent: maxEvent, alive: alive}
}

// next returns the next event with data. A last event without a following empty line is
// incomplete and not returned. The error is io.EOF at the end.
func (s *sse) next() (message, error) {
	var m message
	data := false
	for {
		line, err := s.line(s.maxEvent - int64(len(m.data)))
		if err != nil {
			return message{}, err
		}
		if len(line) == 0 {
			if data {
				return m, nil
			}
			m.id = ""
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if data {
				m.data = append(m.data, '\n')
			}
			data = true
			m.data = append(m.data, value...)
		case "id":
			m.id = ""
			if usableID(value) {
				m.id = string(value)
			}
		}
	}
}

// line returns a line without its end. A short line aliases the reader's buffer, so it must be
// used before the next call.
func (s *sse) line(limit int64) ([]byte, error) {
	line, err := s.lines.ReadSlice('\n')
	var whole []byte
	for errors.Is(err, bufio.ErrBufferFull) {
		whole = append(whole, line...)
		if int64(len(whole)) > limit {
			return nil, fmt.Errorf("an event of more than %d bytes: %w", s.maxEvent, ErrTooLarge)
		}
		line, err = s.lines.ReadSlice('\n')
	}
	if err != nil {
		return nil, err
	}
	s.alive()
	if whole != nil {
		line = append(whole, line...)
	}
	if int64(len(line)) > limit+int64(len("data: \r\n")) {
		return nil, fmt.Errorf("an event of more than %d bytes: %w", s.maxEvent, ErrTooLarge)
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// usableID reports whether id can be sent as a header.
func usableID(id []byte) bool {
	for _, b := range id {
		if b < ' ' || b > '~' {
			return false
		}
	}
	return len(id) <= maxEventID
}

// watchdog ends the context of a stream that is silent or open for too long. Only the reader
// may call its methods.
type watchdog struct {
	idle   *time.Timer
	limit  time.Duration
	cancel context.CancelCauseFunc
	total  context.CancelFunc
}

// watch returns the context of a stream. Limits that are not positive are disabled.
func watch(ctx context.Context, idle, total time.Duration) (context.Context, *watchdog) {
	w := &watchdog{limit: idle, total: func() {}}
	if total > 0 {
		ctx, w.total = context.WithTimeoutCause(ctx, total, fmt.Errorf("the stream lasts longer than %v", total))
	}
	ctx, w.cancel = context.WithCancelCause(ctx)
	if idle > 0 {
		w.idle = time.AfterFunc(idle, func() { w.cancel(fmt.Errorf("%w for %v", errIdle, idle)) })
	}
	return ctx, w
}

func (w *watchdog) alive() {
	if w.idle != nil {
		w.idle.Reset(w.limit)
	}
}

func (w *watchdog) stop() {
	if w.idle != nil {
		w.idle.Stop()
	}
	w.cancel(nil)
	w.total()
}
