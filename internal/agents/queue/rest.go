package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/parley-a2a/parley/internal/execution"
	"github.com/parley-a2a/parley/internal/task"
)

// A run whose work waits in its queue rests: it ends, and its task needs no goroutine and little
// memory until a worker claims the work or its time is over. The engine then starts another run,
// which finds the place of the task in its checkpoint.

// rest is a task without a run whose work waits in its queue.
type rest struct {
	name task.Agent
	// agent is its name in the hub, and queued the time of the first publication.
	agent  task.Agent
	queued int64
	// waiting is that of the run. limit is when the task fails for lack of a worker, in Unix
	// milliseconds; zero means never.
	waiting, limit int64
	repeats        int
}

// restMargin is the time before its limit at which a task has a run again, in addition to the
// interval of the comparisons.
const restMargin = time.Minute

// nudge is put into the mailbox of a resting task whose limit is near.
type nudge struct{}

// rest ends the run if it has nothing to do but to wait for a worker. It reports whether it has.
func (r *run) rest() bool {
	if !r.mayRest(time.Now()) {
		return false
	}
	r.resting = true
	r.yield(nil, execution.ErrResting)
	return true
}

func (r *run) mayRest(now time.Time) bool {
	s := &r.schedule
	switch {
	case r.d.Runs == nil || r.serial || !r.stored || r.done || r.closed || r.ctx.Err() != nil:
		return false
	case r.work == nil || r.state.claimed() || r.cancel != nil || r.waiting.Load() <= 0:
		return false
	case !s.publish.IsZero() || !s.deadline.IsZero() || len(r.unacked) > 0 || r.delayed != nil:
		return false
	case r.mail.pending():
		return false
	}
	return s.limit.IsZero() || s.limit.Sub(now) > restMargin+2*r.d.reconcileInterval()
}

// forget removes a task that does not rest any more.
func (d *Dispatcher) forget(k taskKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, ok := d.resting[k]; ok {
		d.wakeLocked(k, at)
	}
}

// Forget removes a task that has ended or has another agent by now from those that wait in the queue of its
// agent, as far as this hub has them. An operator has changed the task without a run.
func (d *Dispatcher) Forget(h *task.Head) {
	k := taskKey{h.Owner, h.ID}
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, ok := d.resting[k]; ok && (h.Ended() || at.agent != h.Performer()) {
		d.wakeLocked(k, at)
	}
}

// wakeLocked removes a task that does not rest any more, and whose work counted as queued.
func (d *Dispatcher) wakeLocked(k taskKey, at rest) {
	delete(d.resting, k)
	d.slots.note(at.name, -1)
}

// rouse starts a run for a task that rests. If that is not possible, the senders of its items
// repeat them.
func (d *Dispatcher) rouse(ctx context.Context, k taskKey, begun func()) bool {
	if d.Runs == nil {
		return false
	}
	err := d.Runs.Rouse(ctx, k.owner, k.id, begun)
	if err != nil {
		if begun != nil {
			begun()
		}
		d.log().Warn("task cannot be continued now", "task", k.id, "error", err)
	}
	return err == nil
}

// passOn passes an item to a task that rests. It waits until a run has the item, and reports
// whether one has.
func (d *Dispatcher) passOn(ctx context.Context, k taskKey, item any) bool {
	if d.Runs == nil || !d.keep(k, item) {
		return false
	}
	begun := make(chan struct{})
	d.rouse(ctx, k, func() { close(begun) })
	select {
	case <-begun:
	case <-ctx.Done():
	}
	return !d.remove(k, item)
}

// remove removes a parked item; it reports whether it was there.
func (d *Dispatcher) remove(k taskKey, item any) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	items := d.parked[k]
	i := slices.Index(items, item)
	if i < 0 {
		return false
	}
	d.count--
	if d.parked[k] = slices.Delete(items, i, i+1); len(items) == 1 {
		delete(d.parked, k)
	}
	return true
}

// rousers is the number of resting tasks that are roused at one time by a comparison.
const rousers = 64

// rouseAll puts an item into the mailboxes of resting tasks. It waits until their runs have begun,
// a few at a time.
func (d *Dispatcher) rouseAll(ctx context.Context, keys []taskKey, item any) {
	slots := make(chan struct{}, rousers)
	for _, k := range keys {
		if status, err := d.statusOf(ctx, k); err != nil {
			return
		} else if status != queued {
			d.forget(k)
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		if !d.keep(k, item) {
			<-slots
			continue // the next comparison tries again
		}
		if d.rouse(ctx, k, func() { <-slots }) {
			continue
		}
		d.remove(k, item)
		if item == any(nudge{}) {
			d.expire(ctx, k)
		}
	}
}

// expire fails a task whose limit has come while its agent is not registered.
func (d *Dispatcher) expire(ctx context.Context, k taskKey) {
	d.mu.Lock()
	at, ok := d.resting[k]
	d.mu.Unlock()
	if !ok || at.limit > time.Now().UnixMilli() {
		return
	}
	reason := fmt.Sprintf("no worker of agent %q has taken the message within %v", at.name, d.maxWait())
	if _, err := d.Runs.GiveUp(ctx, k.owner, k.id, reason); err != nil {
		d.log().Warn("fail task", "task", k.id, "error", err)
		return
	}
	d.forget(k)
}

// due returns the resting tasks whose limit is near.
func (d *Dispatcher) due(now time.Time) []taskKey {
	before := now.Add(restMargin + d.reconcileInterval()).UnixMilli()
	d.mu.Lock()
	defer d.mu.Unlock()
	var keys []taskKey
	for k, at := range d.resting {
		if at.limit != 0 && at.limit <= before {
			keys = append(keys, k)
		}
	}
	return keys
}
