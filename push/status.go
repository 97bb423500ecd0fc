package push

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/task"
)

// Status is how a webhook does, for an operator.
type Status struct {
	// Told is the version up to which the webhook has been told.
	Told int64
	// Behind counts the versions after it, those without a notification included.
	Behind int64
	// Tries is how often the next version was tried.
	Tries int
	// Next is when it is tried again; zero if it is not waiting for that.
	Next time.Time
	// Underway says that it is being tried.
	Underway bool
	// LastError says why the last try came to nothing, for a person.
	LastError string
	// Breaker is that of the endpoint: closed, open or half-open.
	Breaker string
	// Until is when an open breaker lets one try through; zero if it is not open.
	Until time.Time
}

// Status returns how a webhook does. It reports false for one that is not known: it
// is settled, or was dropped.
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
		Told: h.told, Behind: max(h.last-h.told, 0), Underway: h.phase == telling, Breaker: h.lane.breaker.String(),
	}
	if h.trouble != nil {
		st.Tries, st.LastError = h.trouble.tries, h.trouble.reason
	}
	if h.phase == asleep {
		st.Next = time.Unix(0, h.at).UTC()
	}
	if h.lane.breaker == open {
		st.Until = time.Unix(0, h.lane.at).UTC()
	}
	return st, true
}

// Redeliver moves a webhook back in front of its first dead letter and tells it
// everything from there on again. Without dead letters, it is tried at once if it
// waits. It returns the hook as it then is, or task.ErrNotFound.
func (d *Dispatcher) Redeliver(ctx context.Context, ref task.HookRef) (task.Hooked, error) {
	// Steps that are not durable yet come first: they may hold the dead letters, and
	// must not move the hook forward again afterwards.
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
	d.hurry(endpointOf(got.URL))
	return got, nil
}

// hurry lets one try through an open breaker now.
func (d *Dispatcher) hurry(endpoint string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.lanes[endpoint]; l != nil && l.breaker == open {
		d.disarmLocked(l)
		l.breaker = halfOpen
		d.readyLocked(l)
	}
}
