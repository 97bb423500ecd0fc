package adminapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/sse"
)

// eventsKeepAlive is the silence after which a stream of events sends a comment.
const eventsKeepAlive = 15 * time.Second

// eventStream is a stream of Server-Sent Events.
type eventStream struct{ *sse.Writer }

func (e *eventStream) send(text string) error { return e.Send([]byte(text)) }

// inboxEvents sends each item that is added or settled from now on, if the caller may see it,
// until the caller disconnects or the hub stops.
func (h *Handler) inboxEvents(w http.ResponseWriter, r *http.Request) {
	v := h.viewer(r)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	changes := h.Inbox.Watch(ctx)
	stream := openEvents(w, r)
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
	if e.Send(sse.Comment) != nil {
		cancel()
		return func() {}
	}
	return sse.Repeat(eventsKeepAlive, func() bool {
		err := e.Send(sse.Comment)
		if err != nil {
			cancel() // the client has disconnected
		}
		return err == nil
	})
}

// memoryEvents sends the caller's notes whose keys and categories have the given prefixes: the
// existing ones and each that is set, until the caller disconnects or the hub stops. A slow reader
// may miss intermediate changes, and delays no other caller.
func (h *Handler) memoryEvents(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	prefix, category := q.Get("prefix"), q.Get("category")
	if err := memory.CheckPrefix(prefix); err != nil {
		h.fail(w, r, badNote(r, err))
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stream := openEvents(w, r)
	if r.Method == http.MethodHead {
		return
	}
	defer stream.beating(cancel)()
	for e, err := range h.Memory.Notes.Watch(ctx, ownerOf(r), prefix) {
		if err != nil {
			if !errors.Is(err, memory.ErrEnded) {
				h.log().Error("a stream of notes has ended", "error", err)
			}
			return
		}
		n := entryNote(&e)
		if strings.HasPrefix(e.Category, category) && stream.sendJSON(&n) != nil {
			return
		}
	}
}
