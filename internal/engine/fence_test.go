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
		"durable events": func(r *run) { r.acknowledge([]task.Entry{{Seq: 1}, {Seq: 2}}) },
		"bad event":      func(r *run) { r.dropAfter(&badEvent{2, task.ErrIllegal}) },
	}
	for name, after := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := New(Config{Store: new(memstore.Store)})
			r := e.newRun(e.newLive(ref{"ann", "t"}), &Agent{Name: "a"}, queueKey{})
			r.ctx, r.stop = context.WithCancelCause(t.Context())
			r.out.Add(task.Entry{Seq: 1}, task.Entry{Seq: 2})
			r.fence(errCanceled)
			after(r)
			if len(r.out.Events()) != 0 || e.queues.Total.Load() != 0 || !r.out.Closed() || !errors.Is(context.Cause(r.ctx), errCanceled) {
				t.Errorf("pending %v, closed %v, cause %v; want a fenced run", r.out.Events(), r.out.Closed(), context.Cause(r.ctx))
			}
			if err := r.Flush(t.Context()); !errors.Is(err, errCanceled) {
				t.Errorf("barrier: %v, want why the events may be lost", err)
			}
		})
	}
}
