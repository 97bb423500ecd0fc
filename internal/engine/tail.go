package engine

import (
	"slices"
	"sync/atomic"

	"github.com/parley-a2a/parley/internal/task"
)

// Limits of the tails in memory. Readers that are further behind read the store. The number of
// entries is that of a task without large commits: a tail has room for two commits as large as the
// last one, and for half as many entries as before.
const (
	tailEntries  = 256
	tailBytes    = 1 << 20
	allTailBytes = 64 << 20
)

// tail holds the most recent entries of a live task, so that readers that keep up need not read
// the store. It is guarded by its task's lock.
type tail struct {
	// events hold the versions up to the head's, without gaps.
	events []Event
	bytes  int
	// room is the number of events that fit.
	room int
	// total is the size of all tails of the engine.
	total *atomic.Int64
}

// add appends entries and drops the oldest ones that no longer fit.
func (t *tail) add(entries []task.Entry) {
	before := t.bytes
	t.room = max(tailEntries, 2*len(entries), t.room/2)
	for i := range entries {
		t.bytes += size(&entries[i])
	}
	old, drop := t.events, 0
	spare := allTailBytes - t.total.Load()
	for n := len(old) + len(entries); drop < n && (n-drop > t.room || t.bytes > tailBytes || int64(t.bytes-before) > spare); drop++ {
		if drop < len(old) {
			t.bytes -= size(&old[drop].Entry) + len(old[drop].Frame)
		} else {
			t.bytes -= size(&entries[drop-len(old)])
		}
	}
	t.total.Add(int64(t.bytes - before))
	if drop > len(old) {
		entries = entries[drop-len(old):]
	}
	old = old[min(drop, len(old)):]
	if drop > 0 {
		// A new array is needed because readers hold slices of the old one.
		t.events = append(make([]Event, 0, len(old)+len(entries)), old...)
	} else {
		// Four are sufficient for a task that is answered at once.
		t.events = slices.Grow(old, max(len(entries), 4-len(old)))
	}
	for i := range entries {
		t.events = append(t.events, Event{Entry: entries[i]})
	}
}

// after returns the events above version, and whether the tail reaches back that far. Their
// frames are built on first use and shared by all readers.
func (t *tail) after(h *task.Head, version int64) ([]Event, bool) {
	if len(t.events) == 0 || t.events[0].Version > version+1 {
		return nil, false
	}
	from := int(version + 1 - t.events[0].Version)
	for i := from; i < len(t.events); i++ {
		if ev := &t.events[i]; ev.Frame == nil && ev.Kind != task.Message {
			ev.Frame = task.AppendFrame(nil, h, &ev.Entry)
			t.bytes += len(ev.Frame)
			t.total.Add(int64(len(ev.Frame)))
		}
	}
	return t.events[from:len(t.events):len(t.events)], true
}

// all returns all entries if the tail reaches back to the first one.
func (t *tail) all() ([]Event, bool) {
	if len(t.events) == 0 || t.events[0].Version != 1 {
		return nil, false
	}
	return t.events[:len(t.events):len(t.events)], true
}

// free subtracts the tail from the engine's total.
func (t *tail) free() {
	t.total.Add(-int64(t.bytes))
	t.events, t.bytes = nil, 0
}

func size(e *task.Entry) int { return e.Size() + 96 }
