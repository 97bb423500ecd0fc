package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// A task may be ended after the append of a run's events and before the run removes them from
// its queue: a cancellation that arrives as the agent completes.
func TestFenceBetweenAppendAndQueue(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*run){
		"durable events": func(r *run) { r.dropDurable(2) },
		"bad event":      func(r *run) { r.dropAfter(&badEvent{1, task.ErrIllegal}) },
	}
	for name, after := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := New(Config{Store: new(memstore.Store)})
			r := &run{engine: e, live: e.newLive(ref{"ann", "t"}), agent: &Agent{Name: "a"}}
			r.ctx, r.stop = context.WithCancelCause(t.Context())
			r.setQueueLocked([]task.Entry{{Seq: 1}, {Seq: 2}})
			r.seq = 2
			r.fence(errCanceled)
			after(r)
			if len(r.pending) != 0 || e.queued.Load() != 0 || !r.closed || !errors.Is(context.Cause(r.ctx), errCanceled) {
				t.Errorf("pending %v, closed %v, cause %v; want a fenced run", r.pending, r.closed, context.Cause(r.ctx))
			}
			if err := r.Flush(t.Context()); !errors.Is(err, errCanceled) {
				t.Errorf("barrier: %v, want why the events may be lost", err)
			}
		})
	}
}
