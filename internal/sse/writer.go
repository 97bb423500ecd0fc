package sse

import (
	"net/http"
	"sync"
	"time"
)

// writeTime is how long a client may take to accept an event.
const writeTime = 30 * time.Second

// Writer sends a stream of events to a client. It is safe for concurrent use.
type Writer struct {
	control *http.ResponseController
	// timed is set if an expired deadline ends an idle stream, as in HTTP/2.
	timed bool

	mu sync.Mutex // guards w
	w  http.ResponseWriter
}

// NewWriter returns the Writer of the answer to r. The first Send writes the header.
func NewWriter(w http.ResponseWriter, r *http.Request) *Writer {
	w.Header().Set("Content-Type", "text/event-stream")
	return &Writer{control: http.NewResponseController(w), timed: r.ProtoMajor > 1, w: w}
}

// Send sends encoded events or comments. An error means that the client has disconnected, or is too
// slow.
func (s *Writer) Send(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTime)) // some writers have no deadlines
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	if err := s.control.Flush(); err != nil || !s.timed {
		return err
	}
	return s.control.SetWriteDeadline(time.Time{})
}
