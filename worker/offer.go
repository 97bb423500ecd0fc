package worker

import (
	"context"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// offered returns the number of jobs that hubs may offer at one time. A worker for one task accepts
// no offers: it would end before it has handled a second one.
func (r *run) offered() int {
	if r.Once {
		return 0
	}
	return r.Concurrency
}

// takeOffer performs work that a hub has sent to this worker alone. Its signature was verified. The
// hub publishes work that is dropped at the queue.
func (r *run) takeOffer(e *bus.Envelope) {
	if r.offered() == 0 || r.accepting.Err() != nil || !r.track() {
		return
	}
	go func() { // drain waits for it
		defer r.pending.Done()
		if !r.takeSlot() {
			return
		}
		defer func() { <-r.slots }()
		if j := r.admit(&bus.Delivery{Envelope: e, At: protocol.WorkerAt(r.id), Number: 1}); j != nil {
			r.perform(r.accepting, j)
		}
	}()
}

// takeSlot waits for a slot while an offer is valid; it reports whether there is one.
func (r *run) takeSlot() bool {
	select {
	case r.slots <- struct{}{}:
		return true
	default:
	}
	ctx, stop := context.WithTimeout(r.accepting, protocol.OfferPatience)
	defer stop()
	select {
	case r.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}
