package engine

import (
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// TestTailKeepsTheNewest adds batches of many sizes. The tail holds the newest versions without
// gaps, within its limits, and the events that its readers hold do not change.
func TestTailKeepsTheNewest(t *testing.T) {
	t.Parallel()
	var total atomic.Int64
	tl := tail{total: &total}
	var held []Event
	version, heldFrom := int64(0), int64(0)
	h := task.Head{ID: "t", ContextID: "c"}
	last := 0
	for _, n := range []int{1, 3, 0, 100, 200, 1, 256, 255, 40, 600, 2, 1, 1, 1} {
		batch := make([]task.Entry, n)
		for i := range batch {
			version++
			batch[i] = task.Entry{Version: version, Kind: task.Artifact, Body: make([]byte, 5000*(i%2))}
		}
		tl.add(batch)
		bytes := 0
		for i := range tl.events {
			if want := version - int64(len(tl.events)-1-i); tl.events[i].Version != want {
				t.Fatalf("after %d versions, event %d has version %d, want %d", version, i, tl.events[i].Version, want)
			}
			bytes += size(&tl.events[i].Entry) + len(tl.events[i].Frame)
		}
		if len(tl.events) > tl.room || bytes > tailBytes || bytes != tl.bytes || total.Load() != int64(bytes) {
			t.Fatalf("the tail has %d events of %d bytes, and counts %d and %d", len(tl.events), bytes, tl.bytes, total.Load())
		}
		if bytes < tailBytes-10_000 && len(tl.events) < min(int(version), max(n+last, tailEntries)) {
			t.Errorf("after batches of %d and %d, the tail has only %d events", last, n, len(tl.events))
		}
		last = n
		for i := range held {
			if held[i].Version != heldFrom+int64(i) {
				t.Fatalf("a reader's event %d has become version %d", i, held[i].Version)
			}
		}
		if n > 0 {
			held, _ = tl.after(&h, tl.events[0].Version)
			heldFrom = tl.events[0].Version + 1
		}
	}
	if tl.room != tailEntries {
		t.Errorf("after small batches, the tail has room for %d events, want %d", tl.room, tailEntries)
	}
	tl.free()
	if total.Load() != 0 {
		t.Errorf("a released tail counts %d bytes", total.Load())
	}
}

// TestTailOfAllIsBounded: once the tails of all tasks are full, a tail drops its own events.
func TestTailOfAllIsBounded(t *testing.T) {
	t.Parallel()
	var total atomic.Int64
	total.Store(allTailBytes - 500)
	tl := tail{total: &total}
	tl.add([]task.Entry{{Version: 1, Body: make([]byte, 100)}, {Version: 2, Body: make([]byte, 100)}, {Version: 3, Body: make([]byte, 100)}})
	if len(tl.events) != 2 || tl.events[0].Version != 2 || total.Load() > allTailBytes {
		t.Errorf("the tail has %d events, and all tails %d bytes of %d", len(tl.events), total.Load(), allTailBytes)
	}
}

// TestQueuesOfAllRunsAreBounded: a run has less room once those of others are full, and all of it again
// when they are not.
func TestQueuesOfAllRunsAreBounded(t *testing.T) {
	t.Parallel()
	e := New(Config{Store: new(memstore.Store)})
	for _, tt := range []struct {
		own, others int
		full        bool
	}{
		{fewEvents - 1, allQueueEvents, false},
		{fewEvents, allQueueEvents, true},
		{fewEvents, 0, false},
		{queueEvents - 1, 0, false},
		{queueEvents, 0, true},
		{queueEvents - 1, allQueueEvents - queueEvents, false},
		{queueEvents - 1, allQueueEvents - queueEvents + 1, true},
	} {
		e.queues.Total.Store(int64(tt.own + tt.others))
		if got := e.queueFull(tt.own); got != tt.full {
			t.Errorf("with %d events beside %d of others, the queue is full: %v, want %v", tt.own, tt.others, got, tt.full)
		}
	}
}
