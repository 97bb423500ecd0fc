package push

import (
	"context"

	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/task"
)

// origin is whose work a task is: trace context and ids as they came with a message, so
// that a webhook joins the trace of the caller.
type origin map[string][]string

// originOf reads the origin of what follows after version told. It is for people: if it
// cannot be read, there is none.
func (d *Dispatcher) originOf(ctx context.Context, h *task.Head, told int64) origin {
	message := h.Asked
	if message > told {
		message = 1 // later ones come by on the way
	}
	page, err := d.cfg.Store.Read(ctx, h.Key, message-1)
	if err != nil || len(page) == 0 {
		return nil
	}
	return trace.Recorded(page[0].Call)
}

// passes takes in the origin that an entry brings.
func (t *target) passes(e *task.Entry) {
	if e.Kind == task.Created || e.Kind == task.Message {
		t.origin = trace.Recorded(e.Call)
	}
}

// follows returns a context for a try, and its span if the caller's trace is known.
func (t *target) follows(ctx context.Context) (context.Context, trace.Span) {
	if len(t.origin) == 0 {
		return ctx, trace.Span{}
	}
	ids := trace.HeaderIDs(t.origin)
	ids.Task, ids.Context = string(t.head.ID), t.head.ContextID
	ctx, span := trace.Start(trace.WithIDs(trace.Extract(ctx, t.origin), ids), "webhook", trace.Client)
	span.Text("endpoint", endpointOf(t.url))
	return ctx, span
}

// observe ends the span of a try and counts it.
func (v *verdict) observe(ctx context.Context, s trace.Span) {
	trace.Count(ctx, trace.WebhookTries, trace.Labels{Outcome: v.fate.String()}, 1)
	s.Text(trace.Outcome, v.fate.String())
	if v.fate != told {
		s.Fail(v.reason)
	}
	s.End()
}

// String returns the word for what became of a try.
func (f fate) String() string {
	return [...]string{told: "told", again: "again", lost: "lost", dropped: "dropped", voided: "voided"}[f]
}

// Stats are numbers of a Dispatcher for its operator.
type Stats struct {
	// Hooks is how many webhooks have something to be told or may have; Underway how
	// many are being told now.
	Hooks, Underway int
	// Waiting is how many are in line, Asleep how many wait to be tried again.
	Waiting, Asleep int
	// Broken is how many endpoints are left alone, because they do not answer.
	Broken int
}

// Stats returns the numbers as they are now. A nil Dispatcher has none.
func (d *Dispatcher) Stats() Stats {
	if d == nil {
		return Stats{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := Stats{Hooks: int(d.known.n.Load()), Underway: d.busy}
	for _, l := range d.lanes {
		s.Waiting += l.waiting
		if l.breaker == open {
			s.Broken++
		}
	}
	for _, a := range d.alarms {
		if h, ok := a.(*hook); ok && h.phase == asleep {
			s.Asleep++
		}
	}
	return s
}
