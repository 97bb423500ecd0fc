package adminapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/parley-a2a/parley/inbox"
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
	defer stream.beating(ctx, cancel)()
	for it, err := range changes {
		if errors.Is(err, inbox.ErrBehind) {
			_ = stream.send("event: behind\ndata: {}\n\n") // the final event
		}
		if err != nil || v.maySee(&it) && stream.sendJSON(&it) != nil {
			return
		}
	}
}

// beating sends comments until the returned stop is called, and cancels if the client has
// disconnected.
func (e *eventStream) beating(ctx context.Context, cancel context.CancelFunc) (stop func()) {
	var beat sync.WaitGroup
	beat.Go(func() {
		if e.beat(ctx) != nil {
			cancel() // the client has disconnected
		}
	})
	return func() {
		cancel()
		beat.Wait()
	}
}

// beat sends comments until ctx ends.
func (e *eventStream) beat(ctx context.Context) error {
	tick := time.NewTicker(eventsKeepAlive)
	defer tick.Stop()
	for err := e.send(": parley\n\n"); err == nil; err = e.send(": still there\n\n") {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
	return errors.New("the reader is gone")
}
