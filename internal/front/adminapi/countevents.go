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
	"github.com/parley-a2a/parley/internal/events"
)

const (
	// maxCountStreams is the maximum number of open streams of counts.
	maxCountStreams = 256
	// countPace is the minimum time between two counts of the same tasks for streams, and the time for which callers
	// share an answer.
	countPace = time.Second
)

// tally keeps the latest answer for each selection of tasks. It computes one at most once in countPace, however many
// callers, streams and changes there are.
type tally struct {
	// pace is the minimum time between two answers for a stream.
	pace    time.Duration
	streams atomic.Int32
	turn    chan struct{} // has room for the one that uses latest
	latest  map[string]*counted
}

func newTally(pace time.Duration) *tally {
	return &tally{pace: pace, turn: make(chan struct{}, 1), latest: make(map[string]*counted)}
}

// counted is the answer about a selection of tasks, and its JSON.
type counted struct {
	value any
	body  []byte
	at    time.Time
	// stale is closed by the next change of any task.
	stale <-chan struct{}
}

// countEvents sends the counts of tasks, and again after changes, until the caller disconnects or the
// hub stops.
func (h *Handler) countEvents(w http.ResponseWriter, r *http.Request) {
	h.sendLatest(w, r, h.tally, h.countedNow)
}

// sendLatest sends the answers of latest while they change.
func (h *Handler) sendLatest(w http.ResponseWriter, r *http.Request, t *tally, latest func(*http.Request) (*counted, error)) {
	defer t.streams.Add(-1)
	if t.streams.Add(1) > maxCountStreams {
		h.fail(w, r, &apierror.Error{
			Err: apierror.ErrUnavailable, Message: "too many of these streams are open; at most " + strconv.Itoa(maxCountStreams), RetryAfter: 5 * time.Second,
		})
		return
	}
	ended, err := h.inspected(r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer ended()
	now, err := latest(r)
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
	for sent := []byte(nil); err == nil; now, err = latest(r) {
		if !bytes.Equal(now.body, sent) {
			if stream.send("data: "+string(now.body)+"\n\n") != nil {
				return
			}
			sent = now.body
		}
		if !h.outdated(ctx, t.pace, now) {
			return
		}
	}
	if ctx.Err() == nil {
		h.log().Error("a stream of counts has ended", "error", err)
	}
}

// outdated waits until the tasks of an answer may have changed, and it has some age. It reports false if the stream
// ends before. Streams that share an answer share the next one.
func (h *Handler) outdated(ctx context.Context, least time.Duration, c *counted) bool {
	pause, stale := time.After(time.Until(c.at.Add(least))), c.stale
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

// countedNow returns the counts that a request selects.
func (h *Handler) countedNow(r *http.Request) (*counted, error) {
	q, agents, err := h.selected(r)
	if err != nil {
		return nil, err
	}
	return h.tally.get(r.Context(), h.Events, []any{q.AllOwners, q.Owner, agents}, func() (any, error) {
		return h.countAnswer(r.Context(), q, agents)
	})
}

// get returns the answer about the selection of a key. One from the last countPace may be older than the last change; its
// stale channel is closed then. Without a recorder, it never is.
func (t *tally) get(ctx context.Context, recorder *events.Recorder, key []any, look func() (any, error)) (*counted, error) {
	b, err := json.Marshal(key)
	if err != nil {
		return nil, err
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	maps.DeleteFunc(t.latest, func(_ string, c *counted) bool { return time.Since(c.at) >= countPace })
	if c := t.latest[string(b)]; c != nil {
		return c, nil
	}
	c := &counted{at: time.Now()}
	if recorder != nil {
		c.stale = recorder.Next()
	}
	if c.value, err = look(); err != nil {
		return nil, err
	}
	if c.body, err = json.Marshal(c.value); err != nil {
		return nil, err
	}
	t.latest[string(b)] = c
	return c, nil
}
