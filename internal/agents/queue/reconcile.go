package queue

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/task"
)

// DefaultReconcile is the Reconcile of a Dispatcher without one: lost work is published again
// within 45 s, three times this interval.
const DefaultReconcile = 15 * time.Second

// depthTimeout limits the time to read the depth of a queue.
const depthTimeout = 10 * time.Second

// lostWork is put into the mailbox when the queue contains less work than there are tasks that
// wait in it.
type lostWork struct{}

// claimedMark is the value of run.waiting while a worker has the task.
const claimedMark = -1

// backlog is the state of the queue of an agent, as far as this hub knows it.
type backlog struct {
	// waiting are the runs whose work has been in the queue, unclaimed, for an interval; resting
	// are such tasks without a run.
	waiting []*run
	resting []taskKey
	// claimed is the number of runs whose task a worker has.
	claimed int64
}

func (d *Dispatcher) reconcileInterval() time.Duration {
	return cmp.Or(max(d.Reconcile, 0), DefaultReconcile)
}

// reconcile compares the queues with the tasks that wait in them, until ctx ends. It publishes
// the work of a queue again if it found too little there twice in a row: a delivery on its way
// from the queue to its claim is in neither for a moment.
func (d *Dispatcher) reconcile(ctx context.Context) {
	o, _ := d.Bus.(bus.Operator)
	ticker := time.NewTicker(d.reconcileInterval())
	defer ticker.Stop()
	var short map[task.Agent]bool
	clock := time.NewTicker(clockInterval)
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
			if by := d.clock.setBack(); by > 0 {
				d.log().Warn("the clock was set back; publishing waiting work again", "by", by)
				// A broker on this machine notes by the clock when it has sent an envelope to a worker. After
				// the clock is set back, it would wait for that time before it sends the envelope of a lost
				// worker to another one.
				for _, b := range d.backlogs(time.UnixMilli(math.MaxInt64)) {
					for _, r := range b.waiting {
						r.mail.put(lostWork{})
					}
					d.rouseAll(ctx, b.resting, lostWork{})
				}
			}
		case now := <-ticker.C:
			if o != nil {
				short = d.compare(ctx, o, now.Add(-d.reconcileInterval()), short)
			}
			d.rouseAll(ctx, d.due(now), nudge{})
		}
	}
}

// compare compares each queue with the tasks that wait in it since before a time. It returns the
// queues that contain too little for the first time; before are those of the last comparison.
func (d *Dispatcher) compare(ctx context.Context, o bus.Operator, since time.Time, before map[task.Agent]bool) map[task.Agent]bool {
	short := make(map[task.Agent]bool)
	for name, b := range d.backlogs(since) {
		n := int64(len(b.waiting) + len(b.resting))
		if n == 0 {
			continue
		}
		found, ok := d.outstanding(ctx, o, name, b.claimed)
		switch {
		case !ok || found >= n:
		case !before[name]:
			short[name] = true
		default:
			d.log().Warn("the work is missing from its queue; publishing it again", "agent", name, "tasks", n, "in_queue", found)
			for _, r := range b.waiting {
				r.mail.put(lostWork{})
			}
			d.rouseAll(ctx, b.resting, lostWork{})
		}
	}
	return short
}

func (d *Dispatcher) backlogs(since time.Time) map[task.Agent]*backlog {
	limit := since.UnixMilli()
	all := make(map[task.Agent]*backlog)
	d.mu.Lock()
	defer d.mu.Unlock()
	of := func(name task.Agent) *backlog {
		b := all[name]
		if b == nil {
			b = new(backlog)
			all[name] = b
		}
		return b
	}
	for _, r := range d.runs {
		b := of(r.name)
		switch at := r.waiting.Load(); {
		case at == claimedMark:
			b.claimed++
		case at != 0 && d.elapsed(at, limit):
			b.waiting = append(b.waiting, r)
		}
	}
	for k, at := range d.resting {
		if d.elapsed(at.waiting, limit) {
			b := of(at.name)
			b.resting = append(b.resting, k)
		}
	}
	return all
}

// elapsed reports whether a time, as set in run.waiting, is not after limit. A time that no run
// has set, because it is too late, is that of a clock that was since moved back.
func (d *Dispatcher) elapsed(at, limit int64) bool {
	return at <= limit || at-limit > (d.reconcileInterval()<<(maxRepeats+1)).Milliseconds()
}

// outstanding returns the number of envelopes in the queue of an agent that no worker is known to
// have claimed, and of those that are on their way from bus.Dead to Undeliverable. Held envelopes
// of claimed tasks do not count. It returns false if the broker does not answer.
func (d *Dispatcher) outstanding(ctx context.Context, o bus.Operator, name task.Agent, claimed int64) (int64, bool) {
	ctx, stop := context.WithTimeout(ctx, depthTimeout)
	defer stop()
	depth, err := o.Depth(ctx, protocol.JobAt(name))
	if err != nil {
		d.log().Debug("queue not compared with its tasks", "agent", name, "error", err)
		return 0, false
	}
	n := depth.Ready + max(depth.Held-claimed, 0)
	for _, at := range []bus.Address{bus.Dead, deadQueue(d.ID)} {
		dead, err := o.Depth(ctx, at)
		if err != nil {
			return 0, false
		}
		n += dead.Ready + dead.Held
	}
	return n, true
}

// maxRepeats limits the doubling of the time between two publications of the same work.
const maxRepeats = 8

// replaceLost publishes unclaimed work again that is missing in its queue. It has a new id,
// because a bus may drop a second envelope with the id of the lost one. If that one appears after
// all, the hub grants the claim of one of them only. Work that is missing again is published
// after twice the time: a receiver may drop it on purpose.
func (r *run) replaceLost() {
	if r.work == nil || r.state.claimed() || r.closed {
		return
	}
	r.work.ID = uuid.NewString()
	trace.Count(r.ctx, trace.Republished, trace.Labels{Agent: string(r.call.Agent)}, 1)
	now := time.Now()
	r.publish(now)
	if r.waiting.Load() > 0 {
		r.repeats = min(r.repeats+1, maxRepeats)
		r.setWaiting(now.Add(r.d.reconcileInterval() << r.repeats).UnixMilli())
	}
}
