package adminapi

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/apierror"
)

const (
	// maxCountStreams is the maximum number of open streams of counts.
	maxCountStreams = 256
	// countPace is the minimum time between two counts of the same tasks for streams.
	countPace = time.Second
)

// tally has the latest counts that streams follow. Each selection of tasks is counted once in
// countPace at most, however many streams and changes there are.
type tally struct {
	streams atomic.Int32
	turn    chan struct{} // has room for the one that uses latest
	latest  map[string]*counted
}

// counted are the counts of a selection of tasks.
type counted struct {
	body []byte
	at   time.Time
	// stale is closed by the next change of any task.
	stale <-chan struct{}
}

// countEvents sends the counts of tasks, and again after changes, until the caller disconnects or the
// hub stops.
func (h *Handler) countEvents(w http.ResponseWriter, r *http.Request) {
	defer h.tally.streams.Add(-1)
	if h.tally.streams.Add(1) > maxCountStreams {
		h.fail(w, r, &apierror.Error{
			Err: apierror.ErrUnavailable, Message: "too many streams of counts are open; at most " + strconv.Itoa(maxCountStreams), RetryAfter: 5 * time.Second,
		})
		return
	}
	ended, err := h.inspected(r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer ended()
	now, err := h.countedNow(r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	stream := openEvents(w, r)
	if r.Method == http.MethodHead {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer stream.beating(cancel)()
	r = r.WithContext(ctx)
	for sent := []byte(nil); err == nil; now, err = h.countedNow(r) {
		if !bytes.Equal(now.body, sent) {
			if stream.send("data: "+string(now.body)+"\n\n") != nil {
				return
			}
			sent = now.body
		}
		if !h.outdated(ctx, now) {
			return
		}
	}
	if ctx.Err() == nil {
		h.log().Error("a stream of counts has ended", "error", err)
	}
}

// outdated waits until the tasks of counts may have changed, and countPace at least. It reports false if the stream
// ends before.
func (h *Handler) outdated(ctx context.Context, c *counted) bool {
	pause, stale := time.After(countPace), c.stale
	for pause != nil || stale != nil {
		select {
		case <-stale:
			stale = nil
		case <-pause:
			pause = nil
		case <-h.Events.Over():
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// countedNow returns the counts that a request selects. Counts from the last countPace may be older than the
// last change; their stale channel is closed then.
func (h *Handler) countedNow(r *http.Request) (*counted, error) {
	q, agents, err := h.selected(r)
	if err != nil {
		return nil, err
	}
	t := h.tally
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
	b, err := json.Marshal([]any{q.AllOwners, q.Owner, agents})
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(t.latest, func(_ string, c *counted) bool { return time.Since(c.at) >= countPace })
	if c := t.latest[string(b)]; c != nil {
		return c, nil
	}
	c := &counted{at: time.Now(), stale: h.Events.Next()}
	answer, err := h.countAnswer(r.Context(), q, agents)
	if err != nil {
		return nil, err
	}
	if c.body, err = json.Marshal(answer); err != nil {
		return nil, err
	}
	t.latest[string(b)] = c
	return c, nil
}
