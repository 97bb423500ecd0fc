package httpfront

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/sse"
)

// source supplies the events of a stream; see engine.Stream.
type source interface {
	Next(ctx context.Context, wait time.Duration) ([]engine.Event, error)
}

// eventWriter writes server-sent events, one data line each. It belongs to one goroutine
// and holds no buffer between writes, so that an idle stream costs little.
type eventWriter struct {
	w  http.ResponseWriter
	rc *http.ResponseController
	// prefix and suffix enclose each frame.
	prefix, suffix []byte
	// timeout is how long a write may take.
	timeout time.Duration
	// timed states that an expired deadline ends even an idle stream, as in HTTP/2, so that it
	// must be removed after each write.
	timed bool
	// frames rewrites frames for readers of another dialect; nil leaves them unchanged.
	frames func(v1 []byte) [][]byte
	// sent counts the events.
	sent int
}

var (
	eventStream = []string{"text/event-stream"}
	noTransform = []string{"no-cache, no-transform"}
	noStore     = []string{"no-store"}
	noBuffering = []string{"no"}
)

// begin sets the headers. Nothing is sent before the first write. The headers disable caches,
// compressors and buffering proxies.
func (s *eventWriter) begin() {
	h := s.w.Header()
	h["Content-Type"] = eventStream
	h["Cache-Control"] = noTransform
	h["X-Accel-Buffering"] = noBuffering
}

// appendEvent appends one event; a version of zero means no id.
func (s *eventWriter) appendEvent(dst []byte, version int64, frame []byte) []byte {
	s.sent++
	return s.shut(append(s.open(dst, version), frame...))
}

// appendFrame appends the events for a frame. Of several events only the last one has the id,
// so that a reader that resumes there has received them all.
func (s *eventWriter) appendFrame(dst []byte, version int64, frame []byte) []byte {
	if s.frames == nil {
		return s.appendEvent(dst, version, frame)
	}
	events := s.frames(frame)
	for i, ev := range events {
		if i == len(events)-1 {
			dst = s.appendEvent(dst, version, ev)
		} else {
			dst = s.appendEvent(dst, 0, ev)
		}
	}
	return dst
}

// size returns the number of bytes of events, if their frames are not rewritten.
func (s *eventWriter) size(events []engine.Event) int {
	const around = len("id: 12345678901\ndata: \n\n")
	n := len(events) * (len(s.prefix) + len(s.suffix) + around)
	for i := range events {
		n += len(events[i].Frame)
	}
	return n
}

// open appends the text before the frame of an event, shut the text after it.
func (s *eventWriter) open(dst []byte, version int64) []byte {
	if version > 0 {
		dst = strconv.AppendInt(append(dst, "id: "...), version, 10)
		dst = append(dst, '\n')
	}
	return append(append(dst, "data: "...), s.prefix...)
}

func (s *eventWriter) shut(dst []byte) []byte {
	return append(append(dst, s.suffix...), "\n\n"...)
}

// write writes b, which the reader must accept within timeout.
func (s *eventWriter) write(b []byte) error {
	err := s.rc.SetWriteDeadline(time.Now().Add(s.timeout))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if len(b) > 0 {
		_, err = s.w.Write(b)
		return err
	}
	return nil
}

// send writes and flushes b; the reader must accept it within timeout.
func (s *eventWriter) send(b []byte) error {
	if err := s.write(b); err != nil {
		return err
	}
	if err := s.rc.Flush(); err != nil {
		return err
	}
	if s.timed {
		return s.rc.SetWriteDeadline(time.Time{})
	}
	return nil
}

// copy sends the events of src until it ends. It returns nil when src has ended, the error of
// src, or an error wrapping errReader if the reader is disconnected or too slow.
func (s *eventWriter) copy(ctx context.Context, src source, keepAlive time.Duration) error {
	for {
		events, err := src.Next(ctx, keepAlive)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.sendEvents(events); err != nil {
			return errors.Join(errReader, err)
		}
	}
}

// errReader is returned when the reader of a stream does not accept writes any more.
var errReader = errors.New("reader of the stream is gone")

// pieceSize is the number of bytes from which events are written before the rest of them, so that a
// reader that is slow holds no large buffer.
const pieceSize = 64 << 10

// sendEvents sends events, or a comment if there are none.
func (s *eventWriter) sendEvents(events []engine.Event) error {
	if len(events) == 0 {
		return s.send(sse.Comment)
	}
	buf := takeBuffer()
	defer buf.put()
	buf.b = slices.Grow(buf.b, min(s.size(events), pieceSize+4<<10))
	some := false
	for i := range events {
		e := &events[i]
		if e.Frame == nil {
			continue
		}
		if len(buf.b) >= pieceSize {
			if err := s.write(buf.b); err != nil {
				return err
			}
			buf.b = buf.b[:0]
		}
		buf.b = s.appendFrame(buf.b, e.Version, e.Frame)
		some = some || len(buf.b) > 0
	}
	if !some {
		return nil
	}
	return s.send(buf.b)
}
