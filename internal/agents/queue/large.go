package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// DefaultLarge is the Large of a Dispatcher without one.
const DefaultLarge = 4 * protocol.MaxLarge

// largeData is the memory of a run for data that does not fit into an envelope: first the content
// that its worker fetches, then the pieces of events that it reports.
type largeData struct {
	// bytes are the content, or the first pieces of the event that of describes. of is nil if
	// there is neither.
	bytes []byte
	of    *protocol.Blob
}

// reserve reserves the memory for a blob; it reports whether there was enough. The whole size is
// reserved at once, so that no runs wait for each other with a part each.
func (d *Dispatcher) reserve(l *largeData, of *protocol.Blob) bool {
	d.release(l)
	limit := cmp.Or(d.Large, DefaultLarge)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reserved+of.Size > limit {
		d.log().Warn("not enough memory for large content; it waits", "size", of.Size, "held", d.reserved, "limit", limit)
		return false
	}
	d.reserved += of.Size
	l.of = of
	return true
}

// release releases the memory of l.
func (d *Dispatcher) release(l *largeData) {
	if l.of == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reserved -= l.of.Size
	*l = largeData{}
}

// content returns the content that is too large for the envelope of the work. It is built from
// stored data, so it is the same after a restart of the hub, unless the task has changed.
func (r *run) content() ([]byte, error) {
	c := protocol.Content{Message: r.call.Message, Metadata: r.call.Metadata, Others: r.call.Others}
	if r.ec.StoredTask != nil {
		c.Stored = r.call.Task
	}
	return protocol.Encode(&c)
}

// externalize replaces the content of the work by a reference. It fails the task and returns false
// if the content is too large even for that.
func (r *run) externalize() bool {
	b, err := r.content()
	if err != nil {
		r.fail("the message cannot be encoded for the bus of agent %q", r.call.Agent)
		return false
	}
	if len(b) > protocol.MaxLarge {
		r.fail("the message, with its task, has %d bytes, and %d are allowed at the bus of agent %q", len(b), protocol.MaxLarge, r.call.Agent)
		return false
	}
	r.body.Message, r.body.Metadata, r.body.Others, r.body.Stored = nil, nil, nil, nil
	r.body.Large = protocol.BlobOf(b)
	return true
}

// fetch is a worker's request for a piece.
type fetch struct {
	epoch int64
	protocol.Fetch
}

func (d *Dispatcher) handleFetch(ctx context.Context, e *bus.Envelope) {
	f := &fetch{epoch: e.Epoch}
	if err := decodeOf(e.Body, &f.Fetch, &f.Worker); err != nil {
		d.log().Warn("fetch ignored", "from", e.Source, "task", e.Task, "error", err)
		return
	}
	d.deliverOrStop(ctx, &workerMessage{to: f.Worker, about: keyOf(e), epoch: e.Epoch}, f)
}

// handleFetch sends the worker a piece of the message. A request that comes too early or with a
// wrong offset gets no answer.
func (r *run) handleFetch(f *fetch) {
	if !r.handleHeartbeat(heartbeat{f.epoch, f.Token, f.Worker}) || r.closed || r.state.Ahead > 0 {
		return
	}
	if r.large.of == nil || r.large.of.ID != f.Blob {
		if !r.loadContent(f) {
			return
		}
	}
	whole := r.large.bytes
	if f.Offset < 0 || f.Offset >= int64(len(whole)) {
		return
	}
	end := min(f.Offset+protocol.MaxPiece, int64(len(whole)))
	r.send(protocol.TypePiece, 0, &protocol.Piece{Blob: f.Blob, Offset: f.Offset, Data: whole[f.Offset:end]})
	if end == int64(len(whole)) {
		r.d.release(&r.large) // if the last piece is lost, the content is built again
	}
}

// loadContent loads the content into memory. If it no longer matches the reference in the work,
// the worker cannot start: serve stops it, and publishes the message again with the current
// content.
func (r *run) loadContent(f *fetch) bool {
	b, err := r.content()
	if err != nil {
		return false
	}
	of := protocol.BlobOf(b)
	if of.ID == f.Blob {
		if !r.d.reserve(&r.large, of) {
			return false
		}
		r.large.bytes = b
		return true
	}
	if r.state.Seq == 0 {
		r.d.log().Info("the content of the work changed; publishing it again", "agent", r.name, "task", r.key.id)
		r.d.stop(r.ctx, r.newMessage(), "the message or its task has changed: it is published again")
		r.redispatch()
	}
	return false
}

// acceptPiece accepts a piece of a large event, and the event with its last piece. Before the last
// piece nothing is durable: a restarted hub requests all pieces again.
func (r *run) acceptPiece(rep *protocol.Report) {
	event, err := r.appendPiece(rep.Large, rep.Piece)
	switch {
	case errors.Is(err, errNoRoom):
		r.dropPieces()
		r.schedule.resend = time.Now().Add(resendInterval)
	case err != nil:
		r.dropPieces()
		r.fail("worker %s of agent %q sent an invalid large event: %v", r.state.Worker, r.call.Agent, err)
	case event == nil:
		r.state.Ahead++
		r.schedule.resend = time.Time{}
	default:
		r.state.Seq += r.state.Ahead
		r.dropPieces()
		r.acceptEvent(event)
	}
}

// resendInterval is the time between two requests for missing pieces of a large event.
const resendInterval = 2 * time.Second

var errNoRoom = errors.New("no room")

// appendPiece appends a piece to the previous ones; it returns the event with the last one.
func (r *run) appendPiece(of *protocol.Blob, p *protocol.Piece) ([]byte, error) {
	l := &r.large
	if r.state.Ahead == 0 {
		if err := of.Check(); err != nil {
			return nil, err
		}
		if !r.d.reserve(l, of) {
			return nil, errNoRoom
		}
	}
	if of.ID != l.of.ID || !p.Follows(l.of, len(l.bytes)) {
		return nil, fmt.Errorf("a piece of %d bytes at %d does not follow the %d bytes of %d that are there", len(p.Data), p.Offset, len(l.bytes), l.of.Size)
	}
	l.bytes = append(l.bytes, p.Data...)
	switch {
	case int64(len(l.bytes)) < l.of.Size:
		return nil, nil
	case !l.of.Matches(l.bytes):
		return nil, errors.New("its SHA-256 does not match")
	case !json.Valid(l.bytes):
		return nil, errors.New("it is not JSON")
	}
	return l.bytes, nil
}

// dropPieces drops the collected pieces.
func (r *run) dropPieces() {
	r.state.Ahead = 0
	r.d.release(&r.large)
}
