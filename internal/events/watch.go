package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/task"
)

const (
	// pageSize is the number of moments that a reader reads at once, and the maximum number of events
	// in a batch.
	pageSize = 256
	// rest is the pause of a reader after it has got all events so far. In a busy hub it gets more of
	// them at once, which costs less than one read and one write for each.
	rest = 5 * time.Millisecond
)

// First is the cursor before the oldest kept event.
const First = "first"

// ErrCursor is returned for a cursor that is not the id of an event.
var ErrCursor = errors.New("not the id of an event")

// Query selects events and the position from which they are read.
type Query struct {
	Filter
	// After is the id of the event after which a reader continues; First is the beginning. If
	// empty, the reader gets events from now on.
	After string
	// Since is the time of the first event that the reader gets, if After is empty. As events are
	// in the order of their storage, the reader may get some earlier ones, and miss some that were
	// stored late. Zero means that After decides.
	Since time.Time
	// Once ends the stream at the newest event in place of waiting for more.
	Once bool
}

// Check returns ErrCursor if After is malformed.
func (q *Query) Check() error {
	_, err := parseCursor(q.After)
	return err
}

// cursor is a position in the timeline: after so many events of moment seq + 1.
type cursor struct {
	timeline string
	seq      int64
	part     int
}

func (c cursor) String() string {
	text := c.timeline + "-" + strconv.FormatInt(c.seq, 10)
	if c.part > 0 {
		text += "-" + strconv.Itoa(c.part)
	}
	return text
}

func parseCursor(text string) (c cursor, err error) {
	if text == "" || text == First {
		return c, nil
	}
	parts := strings.Split(text, "-")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" {
		return c, ErrCursor
	}
	c.timeline = parts[0]
	if c.seq, err = strconv.ParseInt(parts[1], 10, 64); err != nil || c.seq < 0 {
		return c, ErrCursor
	}
	if len(parts) == 3 {
		if c.part, err = strconv.Atoi(parts[2]); err != nil || c.part < 1 {
			return c, ErrCursor
		}
	}
	return c, nil
}

// Watch yields the events of q in order, in batches of those that are known at one time. A batch
// has 1 to 256 events and is valid until the next one. If no event is selected for a while, it
// yields an event with nothing but an ID, the position of the reader. The last element is a
// StreamEnd event, or an error of the store or of ctx.
func (r *Recorder) Watch(ctx context.Context, q Query) iter.Seq2[[]Event, error] {
	return func(yield func([]Event, error) bool) {
		r.init()
		w := &watcher{recorder: r, query: &q, yield: yield}
		err := w.run(ctx)
		if !errors.Is(err, errStopped) && w.flush() == nil && err != nil {
			yield(nil, err)
		}
	}
}

// errStopped means that the loop over a stream has ended.
var errStopped = errors.New("the reader has stopped")

// watcher is the state of one reader.
type watcher struct {
	recorder *Recorder
	query    *Query
	yield    func([]Event, error) bool
	at       cursor
	// batch are the events that the reader has not got yet.
	batch []Event
	// deleted counts the skipped moments of deleted tasks since the last event.
	deleted int
	// shown is the position that the reader has got last.
	shown cursor
}

func (w *watcher) run(ctx context.Context) error {
	if err := w.start(ctx); err != nil {
		return err
	}
	for {
		next := w.recorder.changed.Next() // before the read, so that no change is missed
		stopped := w.recorder.ended()
		page, err := w.recorder.page(ctx, w.at.seq)
		if err != nil {
			return err
		}
		if page.Oldest > w.at.seq+1 {
			if err := w.gap("events were dropped before the reader got them", w.at.seq+1, page.Oldest-1); err != nil {
				return err
			}
			return w.end("the reader is too slow: continue from the id of the last event")
		}
		if err := w.page(ctx, page.Moments); err != nil {
			return err
		}
		if n := len(page.Moments); n == pageSize || n > 0 && page.Newest > w.at.seq {
			continue
		}
		if err := w.idle(); err != nil {
			return err
		}
		if len(page.Moments) > 0 {
			if err := w.pause(ctx); err != nil {
				return err
			}
			continue
		}
		switch {
		case stopped:
			return w.end("the hub stops")
		case w.query.Once:
			return w.end("all events so far were sent")
		}
		select {
		case <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ended reports whether readers end.
func (r *Recorder) ended() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// page returns the moments after a position. Readers share the page that was read last: most of them are at the
// end of the timeline, and a page costs more than all of them take from it.
func (r *Recorder) page(ctx context.Context, after int64) (task.TimelinePage, error) {
	select {
	case r.reading <- struct{}{}:
		defer func() { <-r.reading }()
	case <-ctx.Done():
		return task.TimelinePage{}, context.Cause(ctx)
	}
	page := r.latest
	if i := slices.IndexFunc(page.Moments, func(m task.Moment) bool { return m.Seq == after+1 }); i >= 0 {
		page.Moments = page.Moments[i:]
		return page, nil
	}
	page, err := r.Store.Timeline(ctx, after, pageSize)
	if err == nil && len(page.Moments) > 0 {
		r.latest = page
	}
	return page, err
}

// pause waits before the next look at a store that had less than a page.
func (w *watcher) pause(ctx context.Context) error {
	if w.query.Once {
		return nil
	}
	return backoff.Sleep(ctx, rest)
}

// start finds the position of the query, and reports a gap if it is not in the timeline.
func (w *watcher) start(ctx context.Context) error {
	from, err := parseCursor(w.query.After)
	if err != nil {
		return err
	}
	page, err := w.recorder.Store.Timeline(ctx, 0, 1)
	if err != nil {
		return err
	}
	w.at = cursor{timeline: page.ID, seq: max(page.Oldest-1, 0)}
	switch {
	case w.query.After == "" && !w.query.Since.IsZero():
		w.at.seq, err = w.seek(ctx, w.at.seq, page.Newest)
		return err
	case w.query.After == "":
		w.at.seq = page.Newest
	case w.query.After == First:
	case from.timeline != page.ID:
		return w.gap("the id is of another data folder, or of a hub without one that was started again", 0, 0)
	case from.seq > page.Newest:
		return w.gap("the id is ahead of the newest event: an older copy of the data was restored", page.Newest+1, from.seq)
	case from.seq < w.at.seq:
		return w.gap("events were dropped before the reader got them", from.seq+1, w.at.seq)
	default:
		w.at = from
	}
	return nil
}

// seek returns the position before the first moment from the time of the query on, from first to
// last. A moment of an unknown time counts as one.
func (w *watcher) seek(ctx context.Context, first, last int64) (int64, error) {
	for first < last {
		middle := first + (last-first)/2
		at, err := w.timeAfter(ctx, middle)
		switch {
		case err != nil:
			return 0, err
		case !at.IsZero() && at.Before(w.query.Since):
			first = middle + 1
		default:
			last = middle
		}
	}
	return first, nil
}

// timeAfter returns the time of the moment after a position; zero if its task was deleted.
func (w *watcher) timeAfter(ctx context.Context, seq int64) (time.Time, error) {
	page, err := w.recorder.Store.Timeline(ctx, seq, 1)
	if err != nil || len(page.Moments) == 0 {
		return time.Time{}, err
	}
	m := &page.Moments[0]
	if m.Notice != nil {
		var e Event
		err := json.Unmarshal(m.Notice, &e)
		return e.Time, err
	}
	entries, err := w.recorder.Store.Read(ctx, m.Key, m.First-1)
	if errors.Is(err, task.ErrNotFound) || err == nil && len(entries) == 0 {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return entries[0].At.Time(), nil
}

// page sends the events of moments.
func (w *watcher) page(ctx context.Context, moments []task.Moment) error {
	for i := range moments {
		m := &moments[i]
		skip := w.at.part
		w.at.part = 0
		if m.Notice == nil && m.Head.Key == 0 {
			w.deleted++
			w.at.seq = m.Seq
			continue
		}
		if err := w.flushDeleted(); err != nil {
			return err
		}
		if err := w.moment(ctx, m, skip); err != nil {
			return err
		}
		w.at = cursor{timeline: w.at.timeline, seq: m.Seq}
	}
	return nil
}

// moment sends the events of one moment, without the first skip.
func (w *watcher) moment(ctx context.Context, m *task.Moment, skip int) error {
	if m.Notice != nil {
		w.at.seq = m.Seq
		var e Event
		if err := json.Unmarshal(m.Notice, &e); err != nil {
			return fmt.Errorf("notice %d: %w", m.Seq, err)
		}
		return w.send(e)
	}
	if w.query.skips(&m.Head) {
		return nil
	}
	for v := m.First + int64(skip); v <= m.Last; {
		entries, err := w.recorder.Store.Read(ctx, m.Key, v-1)
		if errors.Is(err, task.ErrNotFound) || err == nil && len(entries) == 0 {
			w.deleted++
			return nil
		}
		if err != nil {
			return err
		}
		for i := range entries {
			if entries[i].Version > m.Last {
				return nil
			}
			w.at = cursor{timeline: w.at.timeline, seq: m.Seq - 1, part: int(entries[i].Version - m.First + 1)}
			if entries[i].Version == m.Last {
				w.at = cursor{timeline: w.at.timeline, seq: m.Seq}
			}
			if err := w.send(ofEntry(&m.Head, &entries[i])); err != nil {
				return err
			}
		}
		v = entries[len(entries)-1].Version + 1
	}
	return nil
}

// skips reports whether no change of a task can be selected, so that its entries need not be
// read.
func (f *Filter) skips(h *task.Head) bool {
	if f.Owner != "" && f.Owner != h.Owner || f.Agent != "" && f.Agent != h.Performer() ||
		f.Task != "" && f.Task != h.ID || f.Context != "" && f.Context != h.ContextID {
		return true
	}
	return !slices.ContainsFunc([]string{TaskCreated, TaskMessage, TaskStatus, TaskArtifact, TaskOther}, f.selectsType)
}

// send sends an event at the current position, if it is selected.
func (w *watcher) send(e Event) error {
	if !w.query.Selects(&e) {
		return nil
	}
	return w.add(e)
}

// add adds an event at the current position to the batch.
func (w *watcher) add(e Event) error {
	e.ID = w.at.String()
	w.shown = w.at
	if w.batch = append(w.batch, e); len(w.batch) < pageSize {
		return nil
	}
	return w.flush()
}

// flush yields the batch, if it has events.
func (w *watcher) flush() error {
	batch := w.batch
	w.batch = w.batch[:0]
	if len(batch) > 0 && !w.yield(batch, nil) {
		return errStopped
	}
	clear(batch)
	return nil
}

// idle yields all that is known: deleted tasks, and the position if it differs from that of the
// last event.
func (w *watcher) idle() error {
	if err := w.flushDeleted(); err != nil {
		return err
	}
	if w.at != w.shown {
		if err := w.add(Event{}); err != nil {
			return err
		}
	}
	return w.flush()
}

// flushDeleted reports the skipped moments of deleted tasks.
func (w *watcher) flushDeleted() error {
	n := w.deleted
	if n == 0 {
		return nil
	}
	w.deleted = 0
	return w.send(Event{Type: Gap, Time: time.Now().UTC(), Data: map[string]any{
		"reason": "tasks were deleted since", "changes": n,
	}})
}

func (w *watcher) gap(reason string, first, last int64) error {
	data := map[string]any{"reason": reason}
	if last > 0 {
		data["first"], data["last"] = first, last
	}
	return w.send(Event{Type: Gap, Time: time.Now().UTC(), Data: data})
}

func (w *watcher) end(reason string) error {
	return w.send(Event{Type: StreamEnd, Time: time.Now().UTC(), Data: map[string]any{"reason": reason}})
}

// typeOf returns the type of a notice; empty for a change.
func typeOf(notice []byte) string {
	var e struct{ Type string }
	_ = json.Unmarshal(notice, &e) // the type stays empty
	return e.Type
}
