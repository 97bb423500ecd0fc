package adminapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/parley-a2a/parley/inbox"
	"github.com/parley-a2a/parley/internal/sse/pulse"
)

const (
	// eventsKeepAlive is the silence after which a stream of events sends a comment.
	eventsKeepAlive = 15 * time.Second
	// eventsWrite is how long a reader may take to accept an event.
	eventsWrite = 30 * time.Second
)

// eventStream is a stream of Server-Sent Events.
type eventStream struct {
	control *http.ResponseController

	mu sync.Mutex // guards w
	w  http.ResponseWriter
}

// send writes a piece of the stream.
func (e *eventStream) send(text string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = e.control.SetWriteDeadline(time.Now().Add(eventsWrite)) // some writers have no deadlines
	if _, err := fmt.Fprint(e.w, text); err != nil {
		return err
	}
	return e.control.Flush()
}

// inboxEvents sends each item that is added or settled from now on, if the caller may see it,
// until the caller disconnects or the hub stops.
func (h *Handler) inboxEvents(w http.ResponseWriter, r *http.Request) {
	v := h.viewer(r)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	changes := h.Inbox.Watch(ctx)
	stream := openEvents(w)
	if r.Method == http.MethodHead {
		return
	}
	defer stream.beating(cancel)()
	for it, err := range changes {
		if errors.Is(err, inbox.ErrBehind) {
			_ = stream.send("event: behind\ndata: {}\n\n") // the final event
		}
		if err != nil || v.maySee(&it) && stream.sendJSON(&it) != nil {
			return
		}
	}
}

// beating sends a comment, and further ones at intervals until the returned stop is called. It
// cancels if the client has disconnected.
func (e *eventStream) beating(cancel context.CancelFunc) (stop func()) {
	if e.send(": parley\n\n") != nil {
		cancel()
		return func() {}
	}
	return pulse.Start(eventsKeepAlive, func() bool {
		err := e.send(": still there\n\n")
		if err != nil {
			cancel() // the client has disconnected
		}
		return err == nil
	}).Stop
}
