package hub

import (
	"context"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/telemetry/samples"
	"github.com/parley-a2a/parley/task"
)

// sampled counts a task that has ended.
func (h *Hub) sampled(o *engine.Outcome) {
	h.samples.Ended(o.Took, o.State == task.Failed || o.State == task.Rejected)
}

// readSample sets the values of a sample. A store that does not answer leaves its values unknown.
func (h *Hub) readSample(ctx context.Context, v *samples.Values) {
	e, p := h.engine.Stats(), h.pusher.Stats()
	v.Set(samples.Runs, e.Runs)
	v.Set(samples.Queued, e.Queued)
	if h.pusher != nil {
		v.Set(samples.Webhooks, p.Waiting+p.Underway+p.Asleep)
	}
	if h.parts.Bus != nil {
		waiting := 0
		for _, b := range h.parts.Bus.Backlogs() {
			waiting += b.Waiting
		}
		v.Set(samples.AtWorkers, waiting)
	}
	if h.parts.Hubs != nil {
		v.Set(samples.Hubs, h.parts.Hubs())
	}
	if h.parts.Letters != nil {
		if n, err := h.parts.Letters.CountLetters(ctx); err == nil {
			v.Set(samples.DeadLetters, n)
		}
	}
	c, ok := h.parts.Store.(Census)
	if !ok {
		return
	}
	states, err := c.States(ctx)
	if err != nil {
		return
	}
	for state, series := range map[task.State]samples.Series{
		task.Submitted: samples.Submitted, task.Working: samples.Working,
		task.InputRequired: samples.InputRequired, task.AuthRequired: samples.AuthRequired,
	} {
		v.Set(series, states[state])
	}
}
