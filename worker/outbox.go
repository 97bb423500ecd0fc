package worker

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/session"
	"github.com/parley-a2a/parley/internal/wake"
)

// Limits of the unconfirmed outputs of a job. An executor that is further ahead waits.
const (
	bufferEvents = 1024
	bufferBytes  = 4 << 20
	// batchEvents and batchBytes limit one report.
	batchEvents = 256
	batchBytes  = 512 << 10
)

// output is one numbered output of a job: an event, a piece of one, or the end of the run.
type output struct {
	event json.RawMessage
	end   *protocol.Report // only Error, Public, Ended and GivenBack are set
	piece *eventPiece
}

// eventPiece is a piece of an event that is too large for an envelope.
type eventPiece struct {
	of *protocol.Blob
	protocol.Piece
}

// split returns s, or the pieces of an event that is too large for an envelope. Each piece has
// a number of its own.
func (s output) split() []output {
	if len(s.event) <= protocol.MaxInline || !json.Valid(s.event) {
		return []output{s}
	}
	var all []output
	of := protocol.BlobOf(s.event)
	for data := range slices.Chunk(s.event, protocol.MaxPiece) {
		p := &eventPiece{of, protocol.Piece{Blob: of.ID, Offset: int64(len(all)) * protocol.MaxPiece, Data: data}}
		all = append(all, output{piece: p})
	}
	return all
}

func (s *output) size() int {
	switch {
	case s.end != nil:
		return len(s.end.Error)
	case s.piece != nil:
		return len(s.piece.Data)
	}
	return len(s.event)
}

var outputs = &session.Bounds[output]{
	Size:  (*output).size,
	Bytes: bufferBytes,
	Full:  func(n int) bool { return n >= bufferEvents },
}

// sendBuffer holds the outputs of a job until the hub has confirmed them, and selects the
// ones to publish next. Use newSendBuffer.
type sendBuffer struct {
	// wake is signaled when an output may be ready for publishing. settled is closed when the
	// hub has confirmed that the job is over.
	wake    wake.Signal
	settled chan struct{}

	mu sync.Mutex // guards the fields below
	// out holds the outputs that the hub has not confirmed.
	out session.Outbox[output]
	// sent is the number of the last published output. Outputs up to queued are published at the
	// hub's queue.
	sent, queued int64
	final        bool // the hub has confirmed that the job is over
	// lastResponse is the time at which the hub last confirmed or requested outputs, or at which
	// the buffer was last empty.
	lastResponse time.Time
}

func newSendBuffer() *sendBuffer {
	o := &sendBuffer{wake: wake.New(), settled: make(chan struct{})}
	o.out.Bounds = outputs
	return o
}

// add adds an output, which is the last one if last is set. It waits for room, except for the
// last output. It returns false if the buffer is closed or ctx has ended.
func (o *sendBuffer) add(ctx context.Context, s output, last bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last && o.out.Closed() || !last && !o.out.Room(ctx, &o.mu, s.size()) {
		return false
	}
	if len(o.out.Events()) == 0 {
		o.lastResponse = time.Now()
	}
	o.out.Add(s.split()...)
	if last {
		o.out.Close()
	}
	o.wake.Send()
	return true
}

// close makes add fail.
func (o *sendBuffer) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out.Close()
}

// next fills rep with the outputs to publish next. It returns the number of the first one, or
// zero if there is none. If queued is set, they go to the hub's queue. Pieces of large events
// always do, because a topic may lose them.
func (o *sendBuffer) next(rep *protocol.Report) (first int64, queued bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	rest := o.out.Events()[o.sent-o.out.Acked():]
	if len(rest) == 0 {
		return 0, false
	}
	first = o.sent + 1
	if p := rest[0].piece; p != nil {
		rep.Large, rep.Piece = p.of, &p.Piece
		o.sent, o.queued = first, max(o.queued, first)
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
	return first, first <= o.queued
}

// confirm drops the outputs up to number seq, which are durable. final is set if the hub needs
// no further output.
func (o *sendBuffer) confirm(seq int64, final bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lastResponse = time.Now()
	o.out.Acknowledge(seq)
	o.sent = max(o.sent, o.out.Acked())
	if final && !o.final {
		o.final = true
		close(o.settled)
		o.out.Close()
	}
}

// resendFrom marks the outputs numbered seq and above for publishing again.
func (o *sendBuffer) resendFrom(seq int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lastResponse = time.Now()
	o.sent = max(o.out.Acked(), min(o.sent, seq-1))
	o.wake.Send()
}

// resendAll marks all unconfirmed outputs for publishing again.
func (o *sendBuffer) resendAll() { o.resendFrom(0) }

// resendOverdue marks all outputs that the hub has not confirmed in time for publishing at its
// queue. It returns the time until the next output is overdue; zero if none is expected.
func (o *sendBuffer) resendOverdue(now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sent == o.out.Acked() {
		return 0
	}
	d := confirmWithin
	if o.sent > o.queued {
		d = keepAfter
	}
	if left := d - now.Sub(o.lastResponse); left > 0 {
		return left
	}
	o.lastResponse, o.queued, o.sent = now, o.sent, o.out.Acked()
	o.wake.Send()
	return 0
}

// replace replaces the output numbered seq, and all later ones, by end.
func (o *sendBuffer) replace(seq int64, end *protocol.Report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.out.Replace(seq, output{end: end}) {
		o.sent = seq - 1
		o.wake.Send()
	}
}

// flush waits until all outputs so far are durable. It returns false if ctx ends first, or if
// the hub has ended the job.
func (o *sendBuffer) flush(ctx context.Context) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	want := o.out.Last()
	for o.out.Acked() < want {
		if o.final || !o.out.Wait(ctx, &o.mu) {
			return false
		}
	}
	return true
}
