package httpfront

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/internal/engine"
)

// source is what a stream is read from; see engine.Stream.
type source interface {
	Next(ctx context.Context, wait time.Duration) ([]engine.Event, error)
}

// sse writes server-sent events, one data line each. It belongs to one goroutine
// and holds no buffer between writes, so that an idle stream costs little.
type sse struct {
	w  http.ResponseWriter
	rc *http.ResponseController
	// prefix and suffix go around each frame.
	prefix, suffix []byte
	// timeout is how long a write may take.
	timeout time.Duration
	// timed says that a passed deadline ends even an idle stream, as it does in
	// HTTP/2, so that it must be lifted after each write.
	timed bool
	// frames rewrites frames for readers of another dialect; nil leaves them as they are.
	frames func(v1 []byte) [][]byte
	// sent counts the events.
	sent int
}

var (
	eventStream  = []string{"text/event-stream"}
	noTransform  = []string{"no-cache, no-transform"}
	noStore      = []string{"no-store"}
	noBuffering  = []string{"no"}
	keepAliveTag = []byte(": keep-alive\n\n")
)

// begin sets the headers. Nothing is sent before the first write. The headers keep
// caches, compressors and buffering proxies out of the way.
func (s *sse) begin() {
	h := s.w.Header()
	h["Content-Type"] = eventStream
	h["Cache-Control"] = noTransform
	h["X-Accel-Buffering"] = noBuffering
}

// appendEvent adds one event; a version of zero gives it no id.
func (s *sse) appendEvent(dst []byte, version int64, frame []byte) []byte {
	s.sent++
	return s.shut(append(s.open(dst, version), frame...))
}

// appendFrame adds the events that show a frame. Of several only the last one has the
// id, so that whoever resumes there has seen them all.
func (s *sse) appendFrame(dst []byte, version int64, frame []byte) []byte {
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

// open adds what stands in front of the frame of an event, shut what stands behind
// it.
func (s *sse) open(dst []byte, version int64) []byte {
	if version > 0 {
		dst = strconv.AppendInt(append(dst, "id: "...), version, 10)
		dst = append(dst, '\n')
	}
	return append(append(dst, "data: "...), s.prefix...)
}

func (s *sse) shut(dst []byte) []byte {
	return append(append(dst, s.suffix...), "\n\n"...)
}

// send writes b and everything before it to the reader, who has timeout to take
// it.
func (s *sse) send(b []byte) error {
	err := s.rc.SetWriteDeadline(time.Now().Add(s.timeout))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if len(b) > 0 {
		if _, err := s.w.Write(b); err != nil {
			return err
		}
	}
	if err := s.rc.Flush(); err != nil {
		return err
	}
	if s.timed {
		return s.rc.SetWriteDeadline(time.Time{})
	}
	return nil
}

// copy sends what src gives until it ends. It returns nil when src has ended, the
// error of src, or one wrapping errReader when the reader is gone or too slow.
func (s *sse) copy(ctx context.Context, src source, keepAlive time.Duration) error {
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

// errReader: the reader of a stream does not take it any more.
var errReader = errors.New("reader of the stream is gone")

// sendEvents sends events in one write, or a comment if there are none.
func (s *sse) sendEvents(events []engine.Event) error {
	if len(events) == 0 {
		return s.send(keepAliveTag)
	}
	buf := takeBuffer()
	defer buf.put()
	for i := range events {
		if e := &events[i]; e.Frame != nil {
			buf.b = s.appendFrame(buf.b, e.Version, e.Frame)
		}
	}
	if len(buf.b) == 0 {
		return nil
	}
	return s.send(buf.b)
}
