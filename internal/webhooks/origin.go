package webhooks

import (
	"context"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// origin is the trace context and the ids that came with a message, so that the notification of
// a webhook joins the trace of the caller.
type origin map[string][]string

// originOf reads the origin of the entries after version notified. It serves tracing alone: if it
// cannot be read, it is nil.
func (d *Dispatcher) originOf(ctx context.Context, h *task.Head, notified int64) origin {
	message := h.LastMessage
	if message > notified {
		message = 1 // the session reads later ones on its way
	}
	page, err := d.cfg.Store.Read(ctx, h.Key, message-1)
	if err != nil || len(page) == 0 {
		return nil
	}
	return trace.Recorded(page[0].Call)
}

// updateOrigin updates the origin from an entry that carries one.
func (t *target) updateOrigin(e *task.Entry) {
	if e.Kind == task.Created || e.Kind == task.Message {
		t.origin = trace.Recorded(e.Call)
	}
}

// withOrigin returns a context for a try, and its span if the caller's trace is known.
func (t *target) withOrigin(ctx context.Context) (context.Context, trace.Span) {
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
func (v *tryResult) observe(ctx context.Context, s trace.Span) {
	trace.Count(ctx, trace.WebhookTries, trace.Labels{Outcome: v.outcome.String()}, 1)
	s.Text(trace.Outcome, v.outcome.String())
	if v.outcome != delivered {
		s.Fail(v.reason)
	}
	s.End()
}

// String returns the name of an outcome in metrics and spans.
func (f outcome) String() string {
	return [...]string{delivered: "accepted", retry: "again", undeliverable: "lost", hookGone: "dropped", aborted: "voided"}[f]
}

// Stats are current numbers of a Dispatcher, for its operator.
type Stats struct {
	// Hooks is the number of webhooks that are not settled, Underway the number of running
	// sessions.
	Hooks, Underway int
	// Waiting is the number of queued webhooks, Asleep the number of webhooks that wait for a
	// retry.
	Waiting, Asleep int
	// Broken is the number of endpoints that are paused because they do not answer.
	Broken int
}

// Stats returns the current numbers; all are zero for a nil Dispatcher.
func (d *Dispatcher) Stats() Stats {
	if d == nil {
		return Stats{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := Stats{Hooks: int(d.known.n.Load()), Underway: d.busy}
	for _, l := range d.queues {
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
