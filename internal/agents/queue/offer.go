package queue

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/task"
)

// Work of small messages is offered to a worker that has a free slot, at the topic of the worker. The
// queue of the agent gets the work only if the worker does not claim it in time. The claim decides
// as for work from the queue.

// slots are the workers of a Dispatcher that accept offers, by the name of their agent, and the
// work in the queues. The mutex of the Dispatcher guards it.
type slots struct {
	workers map[task.Agent][]*knownWorker
	// queued is the number of unclaimed tasks whose work is in the queue. There are no offers while
	// there are any, because an offer would overtake them.
	queued map[task.Agent]int
}

// knownWorker is a worker that has claimed work, and announced that it accepts offers.
type knownWorker struct {
	id string
	// slots is the number of its concurrent jobs, busy that of the tasks of this hub that it has or
	// was offered.
	slots, busy int
	// seen is when it last sent a message.
	seen time.Time
}

// note adds the number of tasks of an agent whose work is in the queue.
func (s *slots) note(name task.Agent, n int) {
	if s.queued == nil {
		s.queued = make(map[task.Agent]int)
	}
	if s.queued[name] += n; s.queued[name] == 0 {
		delete(s.queued, name)
	}
}

// free returns the worker with the most free slots; nil if there is none, or if work is queued.
func (s *slots) free(name task.Agent, since time.Time) *knownWorker {
	var best *knownWorker
	if s.queued[name] > 0 {
		return nil
	}
	for _, w := range s.workers[name] {
		if w.busy < w.slots && w.seen.After(since) && (best == nil || w.slots-w.busy > best.slots-best.busy) {
			best = w
		}
	}
	return best
}

// of returns the worker that has claimed work of an agent; nil if it accepts no offers.
func (s *slots) of(name task.Agent, c *claim) *knownWorker {
	if c.Slots <= 0 || !c.Batches || !protocol.WorksFor(c.Worker, name) {
		return nil
	}
	all := s.workers[name]
	i := slices.IndexFunc(all, func(w *knownWorker) bool { return w.id == c.Worker })
	if i < 0 {
		if len(all) >= maxKnown {
			all = all[1:]
		}
		i = len(all)
		if s.workers == nil {
			s.workers = make(map[task.Agent][]*knownWorker)
		}
		s.workers[name] = append(all, &knownWorker{id: c.Worker})
	}
	w := s.workers[name][i]
	w.slots = c.Slots
	return w
}

// maxKnown is the number of workers of an agent that get offers.
const maxKnown = 256

// forget removes a worker that has not claimed an offer, until its next claim.
func (s *slots) forget(name task.Agent, w *knownWorker) {
	s.workers[name] = slices.DeleteFunc(s.workers[name], func(other *knownWorker) bool { return other == w })
	if len(s.workers[name]) == 0 {
		delete(s.workers, name)
	}
}

// setWaiting sets the time since when the work should be in its queue.
func (r *run) setWaiting(at int64) {
	if before := r.waiting.Swap(at); (before > 0) != (at > 0) {
		n := 1
		if before > 0 {
			n = -1
		}
		r.d.mu.Lock()
		r.d.slots.note(r.name, n)
		r.d.mu.Unlock()
	}
}

// offer offers the work to a worker with a free slot; it reports whether there is one.
func (r *run) offer(now time.Time) bool {
	if r.call.Forgotten != nil || r.body.Large != nil {
		return false // it was dispatched before, or is large
	}
	w := r.reserve(now)
	if w == nil {
		return false
	}
	e := *r.work
	e.ID, e.Destination = uuid.NewString(), "worker/"+w.id
	var err error
	if e.Body, err = protocol.Encode(r.body); err != nil || !fitsIntoBatch(&e) {
		r.vacate()
		return false
	}
	n := &workerMessage{to: w.id, about: r.key, batches: true}
	ctx, stop := context.WithTimeout(r.ctx, sendTimeout)
	defer stop()
	if err := r.d.post(ctx, n, &e); err != nil {
		r.vacate()
		return false
	}
	r.schedule.offer = now.Add(protocol.OfferWithin)
	return true
}

// fitsIntoBatch reports whether protocol.MaxBatch envelopes like e fit into one. The claims of a caller count: they
// may be larger than the body.
func fitsIntoBatch(e *bus.Envelope) bool {
	text, err := e.Encode()
	return err == nil && len(text) <= protocol.MaxBatched
}

func (r *run) reserve(now time.Time) *knownWorker {
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	if r.slot = r.d.slots.free(r.name, now.Add(-r.d.lease())); r.slot != nil {
		r.slot.busy++
	}
	return r.slot
}

// occupy notes that the worker of a granted claim has the task.
func (r *run) occupy(c *claim, now time.Time) {
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	r.vacateLocked()
	if r.slot = r.d.slots.of(r.name, c); r.slot != nil {
		r.slot.busy++
		r.slot.seen = now
	}
}

// vacate releases the slot of the worker that has the task, or was offered it.
func (r *run) vacate() {
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	r.vacateLocked()
}

func (r *run) vacateLocked() {
	if r.slot != nil {
		r.slot.busy--
		r.slot = nil
	}
}
