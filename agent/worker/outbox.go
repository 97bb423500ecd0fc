package worker

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/bus/protocol"
)

// Bounds of what a job has said and the hub has not confirmed. An executor that is further
// ahead waits.
const (
	outboxEvents = 1024
	outboxBytes  = 4 << 20
	// batchEvents and batchBytes bound a report.
	batchEvents = 256
	batchBytes  = 512 << 10
)

// said is one numbered thing that a job has said: an event, or how the run has ended.
type said struct {
	event json.RawMessage
	end   *protocol.Report // Error, Public, Ended and GivenBack count
	piece *part
}

// part is a piece of an event that is too large for an envelope.
type part struct {
	of *protocol.Blob
	protocol.Piece
}

// parts returns what is numbered of s: s itself, or the pieces of an event that is too
// large.
func (s said) parts() []said {
	if len(s.event) <= protocol.MaxInline || !json.Valid(s.event) {
		return []said{s}
	}
	var all []said
	of := protocol.BlobOf(s.event)
	for data := range slices.Chunk(s.event, protocol.MaxPiece) {
		p := &part{of, protocol.Piece{Blob: of.ID, Offset: int64(len(all)) * protocol.MaxPiece, Data: data}}
		all = append(all, said{piece: p})
	}
	return all
}

func (s *said) size() int {
	switch {
	case s.end != nil:
		return len(s.end.Error)
	case s.piece != nil:
		return len(s.piece.Data)
	}
	return len(s.event)
}

// outbox holds what a job has said until the hub has confirmed it, and says what is to be
// published next. Numbers count from 1. Use newOutbox.
type outbox struct {
	// wake is signaled when there may be something to publish. settled is closed when the
	// hub has confirmed that the job is over.
	wake    chan struct{}
	settled chan struct{}

	mu sync.Mutex // guards the fields below
	// kept are those with the numbers from base+1 on; base is the number of the last one
	// that is confirmed, sent that of the last one that is published.
	kept []said
	// What has a number up to slow is published at the hub's queue.
	base, sent, slow int64
	bytes            int
	// closed is set once the last one was added.
	closed bool
	final  bool
	// moved is closed when something is confirmed; nil if nobody waits.
	moved chan struct{}
	// since is when the hub was last heard of, or when there was nothing to confirm.
	since time.Time
}

func newOutbox() *outbox {
	return &outbox{wake: make(chan struct{}, 1), settled: make(chan struct{})}
}

// put adds something, as the last thing if last is set, and waits for room. It reports
// false if nothing counts any more.
func (o *outbox) put(ctx context.Context, s said, last bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.closed && !last && len(o.kept) > 0 && (len(o.kept) >= outboxEvents || o.bytes+s.size() > outboxBytes) {
		if !o.waitLocked(ctx) {
			return false
		}
	}
	if o.closed || ctx.Err() != nil && !last {
		return false
	}
	if len(o.kept) == 0 {
		o.since = time.Now()
	}
	o.kept = append(o.kept, s.parts()...)
	o.bytes += s.size()
	o.closed = last
	o.signal()
	return true
}

// waitLocked waits until something is confirmed; it reports whether it was.
func (o *outbox) waitLocked(ctx context.Context) bool {
	if o.moved == nil {
		o.moved = make(chan struct{})
	}
	moved := o.moved
	o.mu.Unlock()
	defer o.mu.Lock()
	select {
	case <-moved:
		return true
	case <-ctx.Done():
		return false
	}
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// close lets nothing be added any more.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.moveLocked()
}

func (o *outbox) moveLocked() {
	if o.moved != nil {
		close(o.moved)
		o.moved = nil
	}
}

// next fills in what is to be published next, and returns its first number; zero if there
// is nothing. It is slow if the hub's queue is to keep it: that of large events does, which
// does not lose any as a topic may.
func (o *outbox) next(rep *protocol.Report) (first int64, slow bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	rest := o.kept[o.sent-o.base:]
	if len(rest) == 0 {
		return 0, false
	}
	first = o.sent + 1
	if p := rest[0].piece; p != nil {
		rep.Large, rep.Piece = p.of, &p.Piece
		o.sent, o.slow = first, max(o.slow, first)
		return first, true
	}
	size := 0
	for i := range rest {
		s := &rest[i]
		size += s.size()
		if i > 0 && (i >= batchEvents || size > batchBytes || s.piece != nil) {
			break
		}
		o.sent++
		if s.end != nil {
			rep.Error, rep.Public, rep.Ended, rep.GivenBack = s.end.Error, s.end.Public, s.end.Ended, s.end.GivenBack
			break
		}
		rep.Events = append(rep.Events, s.event)
	}
	return first, first <= o.slow
}

// confirm notes that everything up to a number is durable, and whether the job is over.
func (o *outbox) confirm(seq int64, final bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.since = time.Now()
	if n := min(seq-o.base, int64(len(o.kept))); n > 0 {
		for i := range o.kept[:n] {
			o.bytes -= o.kept[i].size()
		}
		o.kept = append([]said(nil), o.kept[n:]...)
		o.base += n
		o.sent = max(o.sent, o.base)
		o.moveLocked()
	}
	if final && !o.final {
		o.final, o.closed = true, true
		close(o.settled)
		o.moveLocked()
	}
}

// from publishes everything from a number on once more.
func (o *outbox) from(seq int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.since = time.Now()
	o.sent = max(o.base, min(o.sent, seq-1))
	o.signal()
}

// again publishes everything once more.
func (o *outbox) again() { o.from(0) }

// late publishes everything at the hub's queue that was published and not confirmed in
// time. It returns when to look again; zero if there is nothing to wait for.
func (o *outbox) late(now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sent == o.base {
		return 0
	}
	d := confirmWithin
	if o.sent > o.slow {
		d = keepAfter
	}
	if left := d - now.Sub(o.since); left > 0 {
		return left
	}
	o.since, o.slow, o.sent = now, o.sent, o.base
	o.signal()
	return 0
}

// replace puts an end in the place of what has a number, and of all that follows.
func (o *outbox) replace(seq int64, end *protocol.Report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := seq - o.base - 1; i >= 0 && i < int64(len(o.kept)) {
		o.kept = append(o.kept[:i], said{end: end})
		o.sent, o.closed = seq-1, true
		o.moveLocked()
		o.signal()
	}
}

// flush waits until what was added is durable. It returns false if ctx ended before, or if
// that will not be.
func (o *outbox) flush(ctx context.Context) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	want := o.base + int64(len(o.kept))
	for o.base < want {
		if o.final || !o.waitLocked(ctx) {
			return false
		}
	}
	return true
}
