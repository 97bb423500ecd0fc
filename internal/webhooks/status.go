package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/internal/task"
)

// Status is the delivery state of a webhook, for an operator.
type Status struct {
	// Position is the version up to which the webhook has been notified.
	Position int64
	// Behind counts the versions after Delivered, including those without a notification.
	Behind int64
	// Tries is the number of tries of the next version.
	Tries int
	// Next is the time of the next try; zero if no retry is scheduled.
	Next time.Time
	// Underway is set while a session is running.
	Underway bool
	// LastError is the reason why the last try failed, as text for operators.
	LastError string
	// Breaker is the state of the endpoint's circuit breaker: closed, open or half-open.
	Breaker string
	// Until is the time at which an open breaker lets one try through; zero if it is not open.
	Until time.Time
}

// Status returns the delivery state of a webhook. It reports false if the webhook is unknown,
// because it is settled or was deleted.
func (d *Dispatcher) Status(ref task.HookRef) (Status, bool) {
	s := d.known.shard(ref.Task)
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.findLocked(ref)
	if h == nil {
		return Status{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	st := Status{
		Position: h.notified, Behind: max(h.last-h.notified, 0), Underway: h.phase == running, Breaker: h.queue.breaker.String(),
	}
	if h.failure != nil {
		st.Tries, st.LastError = h.failure.tries, h.failure.reason
	}
	if h.phase == asleep {
		st.Next = d.timeOf(h.at)
	}
	if h.queue.breaker == open {
		st.Until = d.timeOf(h.queue.at)
	}
	return st, true
}

// timeOf returns the time of an alarm on the present wall clock.
func (d *Dispatcher) timeOf(at time.Duration) time.Time {
	return time.Now().Add(at - time.Since(d.start)).UTC()
}

// Redeliver moves a webhook back in front of its first dead letter, and sends everything from
// there on again. If there are no dead letters, a waiting webhook is tried at once. It returns
// the hook in its new state, or an error that wraps task.ErrNotFound.
func (d *Dispatcher) Redeliver(ctx context.Context, ref task.HookRef) (task.Hooked, error) {
	// Pending steps are saved first: they may hold the dead letters, and must not move the hook
	// forward afterwards.
	if err := d.saveAll(ctx); err != nil {
		return task.Hooked{}, fmt.Errorf("redeliver %s: %w", ref.ID, err)
	}
	d.saving.Lock()
	defer d.saving.Unlock()
	got, err := d.cfg.Store.Revive(ctx, ref)
	if err != nil {
		return task.Hooked{}, fmt.Errorf("redeliver %s: %w", ref.ID, err)
	}
	d.Changed(ref, &got.Hook, &got.Head)
	d.probeNow(endpointOf(got.URL))
	return got, nil
}

// probeNow lets one try through an open breaker now.
func (d *Dispatcher) probeNow(endpoint string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.queues[endpoint]; l != nil && l.breaker == open {
		d.disarmLocked(l)
		l.breaker = halfOpen
		d.readyLocked(l)
	}
}
