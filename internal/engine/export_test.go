package engine

import (
	"context"
	"time"
)

// BusyCallers returns the number of callers with tasks at work.
func BusyCallers(e *Engine) int {
	e.callerTasks.mu.Lock()
	defer e.callerTasks.mu.Unlock()
	return len(e.callerTasks.owners)
}

// Held counts the resources of an engine: tasks in memory, runs and queued tickets, unsettled
// tasks, tokens of callers, and events in the queues of runs. All are zero in an idle hub.
type Held struct{ Live, Running, Waiting, Unsettled, Bearers, Queued int }

// Holds returns the resources that an engine holds.
func Holds(e *Engine) Held {
	var h Held
	h.Running, h.Waiting = e.scheduler.size()
	h.Queued = int(e.queues.Total.Load())
	for i := range e.live.shards {
		s := &e.live.shards[i]
		s.mu.Lock()
		h.Live += len(s.tasks)
		for _, l := range s.tasks {
			l.mu.Lock()
			h.Bearers += len(l.bearers)
			l.mu.Unlock()
		}
		s.mu.Unlock()
	}
	e.reconciler.mu.Lock()
	h.Unsettled = len(e.reconciler.tasks)
	e.reconciler.mu.Unlock()
	return h
}

// SweepParts sweeps the parts at the given time.
func (e *Engine) SweepParts(ctx context.Context, now time.Time) { e.sweepParts(ctx, now) }
