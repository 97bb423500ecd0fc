package session

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parley-a2a/parley/internal/wake"
)

// Bounds limit outboxes. A sender that is further ahead waits.
type Bounds[E any] struct {
	// Size returns the size of an event in bytes.
	Size func(*E) int
	// Bytes is the largest size of all events of an outbox, unless it has only one.
	Bytes int
	// Full reports whether an outbox with n events has no room for another one.
	Full func(n int) bool
	// Total counts the events of all outboxes with these bounds.
	Total atomic.Int64
}

// Outbox holds the events of an execution that are not acknowledged. The first event has the number
// 1. The user sets the bounds, and holds a lock of its own during each call. An Outbox must not be
// copied after its first use.
type Outbox[E any] struct {
	*Bounds[E]
	events []E
	bytes  int
	acked  int64
	closed bool
	moved  wake.Broadcast
}

// Last returns the number of the newest event.
func (o *Outbox[E]) Last() int64 { return o.acked + int64(len(o.events)) }

// Acked returns the number of the last acknowledged event.
func (o *Outbox[E]) Acked() int64 { return o.acked }

// Events returns the events that are not acknowledged. They are valid until the next Acknowledge.
func (o *Outbox[E]) Events() []E { return slices.Clip(o.events) }

// Closed reports whether no event may be added any more.
func (o *Outbox[E]) Closed() bool { return o.closed }

// Room waits until there is room for an event of a size. It unlocks the user's lock meanwhile. It
// returns false if the outbox is closed, or ctx ends first.
func (o *Outbox[E]) Room(ctx context.Context, mu sync.Locker, size int) bool {
	for !o.closed && len(o.events) > 0 && (o.Full(len(o.events)) || o.bytes+size > o.Bytes) {
		if !o.Wait(ctx, mu) {
			return false
		}
	}
	return !o.closed && ctx.Err() == nil
}

// Wait waits until events are acknowledged, or the outbox is closed. It unlocks the user's lock
// meanwhile. It returns false if ctx ends first.
func (o *Outbox[E]) Wait(ctx context.Context, mu sync.Locker) bool {
	moved := o.moved.Next()
	mu.Unlock()
	defer mu.Lock()
	select {
	case <-moved:
		return true
	case <-ctx.Done():
		return false
	}
}

// few is the room of an outbox that is not empty: sufficient for an agent that answers at once.
const few = 4

// Add adds events.
func (o *Outbox[E]) Add(events ...E) {
	all := o.events
	if all == nil {
		all = make([]E, 0, max(few, len(events)))
	}
	all = append(all, events...)
	for i := len(o.events); i < len(all); i++ {
		o.bytes += o.Size(&all[i])
	}
	o.set(all)
}

// Acknowledge drops the events up to number seq. The memory of the others is used again.
func (o *Outbox[E]) Acknowledge(seq int64) {
	n := int(min(seq-o.acked, int64(len(o.events))))
	if n <= 0 {
		return
	}
	for i := range o.events[:n] {
		o.bytes -= o.Size(&o.events[i])
	}
	o.acked += int64(n)
	if n == len(o.events) {
		o.set(nil)
	} else {
		o.set(slices.Delete(o.events, 0, n))
	}
	o.moved.Send()
}

// Replace replaces event seq, and those after it, by the last event of the execution. It reports
// false, and does nothing, if event seq is not there.
func (o *Outbox[E]) Replace(seq int64, last E) bool {
	i := seq - o.acked - 1
	if i < 0 || i >= int64(len(o.events)) {
		return false
	}
	for j := range o.events[i:] {
		o.bytes -= o.Size(&o.events[int(i)+j])
	}
	o.set(o.events[:i:i])
	o.Add(last)
	o.Close()
	return true
}

// Close makes the newest event the last one.
func (o *Outbox[E]) Close() {
	o.closed = true
	o.moved.Send()
}

// Discard closes the outbox and drops its events.
func (o *Outbox[E]) Discard() {
	o.set(nil)
	o.bytes = 0
	o.Close()
}

func (o *Outbox[E]) set(events []E) {
	o.Total.Add(int64(len(events) - len(o.events)))
	o.events = events
}
