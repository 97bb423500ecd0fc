package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/task"
)

// TestRunsThatWaitElsewhere fills all places for such runs. Other runs start beside them,
// further ones wait, and a draining hub does not wait for them.
func TestRunsThatWaitElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, began := new(memstore.Store), make(chan context.Context, 10)
		away := agent.With(untilStopped(began), agent.Traits{Away: true, NoMessage: true})
		b := start(t, engine.Config{Store: store, Limits: limits.Limits{MaxRuns: 1, MaxAway: 2, DrainTimeout: time.Hour}}, words("a"))
		b.register("far", away)
		for range 3 {
			r := now(text("wait"))
			r.Target.Agent = "far"
			b.send(r)
		}
		synctest.Wait()
		if got := b.Stats(); got.Runs != 2 || got.Queued != 1 || len(began) != 2 {
			t.Errorf("%d runs, %d in line; want 2 and 1", got.Runs, got.Queued)
		}
		if a := b.send(text("hi")); a.Head.State != task.Completed {
			t.Errorf("a task of another agent is %v", a.Head.State)
		}
		at := time.Now()
		if err := b.stop(); err != nil || time.Since(at) > 0 {
			t.Errorf("the drain took %v: %v", time.Since(at), err)
		}
	})
}

// TestFlushOfAFencedRun: a fenced run must not be led to believe that its output is durable.
func TestFlushOfAFencedRun(t *testing.T) {
	t.Parallel()
	flushed := make(chan error, 1)
	began := make(chan struct{})
	x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		close(began)
		<-ctx.Done()
		yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
		flushed <- agent.CallFrom(context.WithoutCancel(ctx)).Flush(context.WithoutCancel(ctx))
	}}
	b := start(t, engine.Config{Limits: limits.Limits{DrainTimeout: -1}}, x)
	b.send(now(text("hi")))
	<-began
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	if err := <-flushed; err == nil {
		t.Error("Flush succeeds although an event is not durable")
	}
}
