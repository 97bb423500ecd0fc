package queue

import (
	"context"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/task"
)

// Peers are the other hubs on the store of this one: each takes over the tasks of one that is lost.
// Methods are called concurrently.
type Peers interface {
	// Elsewhere reports whether another hub that may be at work has the task, and returns its
	// checkpoint.
	Elsewhere(ctx context.Context, h *task.Head) (checkpoint []byte, elsewhere bool)
	// Signer returns the signer of the hub with an ID, which is, or was, on the same store.
	Signer(ctx context.Context, hub string) (Signer, error)
}

// A worker claims from and reports to the hub whose work it has received: it accepts no other one. So
// a hub that takes over such a task acts under the name of that hub, by a Dispatcher of its own that
// receives at the addresses of that hub and signs with its key.

// adoption holds the Dispatchers that act for other hubs.
type adoption struct {
	mu sync.Mutex // guards the fields below; not held while calling out
	// ctx is that of Dispatcher.Run; nil before. running counts the Dispatchers that run.
	ctx     context.Context
	running sync.WaitGroup
	all     map[string]*adopted
}

// adopted is a Dispatcher that acts for another hub.
type adopted struct {
	*Dispatcher

	stop context.CancelFunc // nil before it runs
	// users is the number of runs that use it, idle the number of reviews without a task.
	users, idle int
}

// adoptedReviews is the number of reviews without a task after which a hub no longer acts for another
// one.
const adoptedReviews = 6

// actFor returns the Dispatcher for tasks whose work comes from a hub, and the function that releases
// it. It returns d for its own work, and if the hub is not known: workers then count as lost.
func (d *Dispatcher) actFor(ctx context.Context, hub string) (other *Dispatcher, release func()) {
	if hub == "" || hub == d.ID || d.Peers == nil {
		return d, func() {}
	}
	if other, release = d.adopt(hub, nil); other != nil {
		return other, release
	}
	signer, err := d.Peers.Signer(ctx, hub)
	if err != nil {
		d.log().Error("workers of another hub cannot be reached", "hub", hub, "error", err)
		return d, func() {}
	}
	return d.adopt(hub, signer)
}

// adopt returns the Dispatcher that acts for a hub, and creates it unless signer is nil.
func (d *Dispatcher) adopt(hub string, signer Signer) (*Dispatcher, func()) {
	x := &d.adopted
	x.mu.Lock()
	defer x.mu.Unlock()
	a := x.all[hub]
	if a == nil {
		if signer == nil {
			return nil, nil
		}
		a = &adopted{Dispatcher: &Dispatcher{
			Bus: d.Bus, ID: hub, Tasks: d.Tasks, Signer: signer, Lease: d.Lease, MaxWait: d.MaxWait, Reconcile: d.Reconcile,
			Prefetch: d.Prefetch, Large: d.Large, Runs: d.Runs, Peers: d.Peers, Lost: d.Lost, Claimed: d.Claimed, Logger: d.Logger, acts: true,
		}}
		if x.all == nil {
			x.all = make(map[string]*adopted)
		}
		x.all[hub] = a
		x.startLocked(a)
		d.log().Info("this hub acts for another hub, whose workers report to it", "hub", hub)
	}
	a.users++
	return a.Dispatcher, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		a.users--
	}
}

// startLocked runs a, once its hub runs.
func (x *adoption) startLocked(a *adopted) {
	if x.ctx == nil || a.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(x.ctx)
	a.stop = stop
	x.running.Go(func() {
		if err := a.Run(ctx); err != nil {
			a.log().Error("receive for another hub", "hub", a.ID, "error", err)
		}
	})
}

// begin runs the Dispatchers until ctx ends. The result waits for their ends.
func (x *adoption) begin(ctx context.Context) (wait func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ctx = ctx
	for _, a := range x.all {
		x.startLocked(a)
	}
	return func() {
		x.mu.Lock()
		x.ctx = nil
		x.mu.Unlock()
		x.running.Wait()
	}
}

// review ends the Dispatchers without tasks.
func (x *adoption) review() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for hub, a := range x.all {
		if a.users > 0 || a.busy() {
			a.idle = 0
		} else if a.idle++; a.idle >= adoptedReviews {
			delete(x.all, hub)
			if a.stop != nil {
				a.stop()
			}
		}
	}
}

// with returns the Dispatcher that has a run of a task, or nil.
func (x *adoption) with(k taskKey) (*Dispatcher, *run) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, a := range x.all {
		if r := a.find(k); r != nil {
			return a.Dispatcher, r
		}
	}
	return nil, nil
}

// forget removes a task that does not rest any more.
func (x *adoption) forget(k taskKey) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, a := range x.all {
		a.forget(k)
	}
}

// busy reports whether there are tasks.
func (d *Dispatcher) busy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.runs)+len(d.resting)+len(d.parked) > 0
}

// ignores reports whether a message about a task without a run is for another hub: d acts for that
// hub, and has no such task. It costs no read of the store, because that hub may be back, with tasks of
// its own.
func (d *Dispatcher) ignores(k taskKey) bool {
	if !d.acts {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, rests := d.resting[k]
	return !rests && len(d.parked[k]) == 0
}

// Forwarded reports return to their queue after forwardDelay, and are complete after the last one of
// forwards: their worker repeats them if they were not accepted.
const (
	forwardDelay = 5 * time.Second
	forwards     = bus.MaxDeliveries - 1
)

// forward passes a report to the hub that has its task: the hub receives at the same topic. The queue
// keeps the report until that hub has accepted its events.
func (d *Dispatcher) forward(ctx context.Context, delivery *bus.Delivery) {
	if delivery.At.Kind == bus.TopicKind {
		return
	}
	if err := d.Bus.Publish(ctx, protocol.ControlAt(d.ID), delivery.Envelope); err != nil {
		d.log().Debug("forward report", "task", delivery.Task, "error", err)
	}
	if delivery.Number >= forwards {
		d.logSettlement(delivery.Ack(ctx))
		return
	}
	d.logSettlement(delivery.Nak(ctx, forwardDelay))
}
