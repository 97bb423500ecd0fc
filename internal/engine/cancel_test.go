package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/task"
)

func (b *bench) cancelTask(id a2a.TaskID) (*engine.Answer, error) {
	return b.Cancel(b.t.Context(), alice, &op.Cancel{ID: id})
}

func TestCancelStopsTheRun(t *testing.T) {
	t.Parallel()
	began := make(chan context.Context, 1)
	b := start(t, engine.Config{}, untilStopped(began))
	id := b.send(now(text("hi"))).Head.ID
	ctx := <-began
	got, err := b.cancelTask(id)
	if err != nil || got.Head.State != task.Canceled {
		t.Fatalf("Cancel = %+v, %v; want CANCELED", got, err)
	}
	<-ctx.Done()
	if _, err := b.cancelTask(id); !errors.Is(err, a2a.ErrTaskNotCancelable) {
		t.Errorf("second Cancel = %v, want ErrTaskNotCancelable", err)
	}
}

func TestCancelOfAnInterruptedTask(t *testing.T) {
	t.Parallel()
	x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(status(ec, a2a.TaskStateInputRequired, "?"), nil)
	}}
	b := start(t, engine.Config{}, x)
	id := b.send(text("hi")).Head.ID
	if got, err := b.cancelTask(id); err != nil || got.Head.State != task.Canceled {
		t.Errorf("Cancel = %+v, %v; want CANCELED", got, err)
	}
}

func TestAnAgentCanRefuseToCancel(t *testing.T) {
	t.Parallel()
	proceed := make(chan struct{})
	x := &executor{
		run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(status(ec, a2a.TaskStateWorking, ""), nil)
			<-proceed
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
		},
		cancel: func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(nil, a2a.ErrTaskNotCancelable)
		},
	}
	b := start(t, engine.Config{}, x)
	id := b.send(now(text("hi"))).Head.ID
	if _, err := b.cancelTask(id); !errors.Is(err, a2a.ErrTaskNotCancelable) {
		t.Errorf("Cancel = %v, want ErrTaskNotCancelable", err)
	}
	close(proceed)
	b.wait(id, task.Completed)
}

func TestCancelDoesNotWaitForAnUnresponsiveAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		deaf := func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(status(ec, a2a.TaskStateWorking, ""), nil)
			<-proceed
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
		}
		x := &executor{run: deaf, cancel: func(_ context.Context, _ *a2asrv.ExecutorContext, _ func(a2a.Event, error) bool) { <-proceed }}
		b := start(t, engine.Config{}, x)
		id := b.send(now(text("hi"))).Head.ID
		before := time.Now()
		got, err := b.cancelTask(id)
		if err != nil || got.Head.State != task.Canceled || time.Since(before) != 10*time.Second {
			t.Errorf("Cancel = %+v, %v after %v; want CANCELED after 10 s", got, err, time.Since(before))
		}
		close(proceed)
		synctest.Wait()
		if h := b.get(id).Head; h.State != task.Canceled {
			t.Errorf("state = %v after the agent went on, want CANCELED: terminal is final", h.State)
		}
		b.stop()
	})
}

// TestCancelWhileTheHubStops: the request is stored, but this process does not carry it out. Its
// caller must not read that the agent refuses.
func TestCancelWhileTheHubStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(memstore.Store)
		waits := func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			if yield(status(ec, a2a.TaskStateWorking, ""), nil) {
				<-ctx.Done()
			}
		}
		x := agent.With(&executor{run: waits, cancel: func(ctx context.Context, _ *a2asrv.ExecutorContext, _ func(a2a.Event, error) bool) {
			<-ctx.Done()
		}}, agent.Traits{AfterCrash: agent.Resume})
		b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: time.Second}}, x)
		id := b.send(now(text("hi"))).Head.ID
		synctest.Wait()
		b.cancel()
		synctest.Wait()
		if _, err := b.cancelTask(id); !errors.Is(err, apierror.ErrUnavailable) {
			t.Errorf("Cancel = %v, want ErrUnavailable", err)
		}
		if err := b.stop(); err != nil {
			t.Errorf("Run = %v", err)
		}
		confirms := &executor{run: waits, cancel: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(status(ec, a2a.TaskStateCanceled, ""), nil)
		}}
		b = start(t, engine.Config{Store: store}, agent.With(confirms, agent.Traits{AfterCrash: agent.Resume}))
		synctest.Wait()
		if h := b.get(id).Head; h.State != task.Canceled {
			t.Errorf("in the next process the task is %v, want CANCELED", h.State)
		}
		b.stop()
	})
}

// TestCancelReturnsTheOpenTask if the agent has not confirmed within MaxWait.
func TestCancelReturnsTheOpenTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		x := &executor{
			run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				yield(status(ec, a2a.TaskStateWorking, ""), nil)
				<-proceed
			},
			cancel: func(_ context.Context, _ *a2asrv.ExecutorContext, _ func(a2a.Event, error) bool) { <-proceed },
		}
		b := start(t, engine.Config{Limits: limits.Limits{MaxWait: time.Second}}, x)
		id := b.send(now(text("hi"))).Head.ID
		if got, err := b.cancelTask(id); err != nil || got.Head.State != task.Working {
			t.Errorf("Cancel = %+v, %v; want WORKING", got, err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if h := b.get(id).Head; h.State != task.Canceled {
			t.Errorf("state = %v, want CANCELED after CancelWait", h.State)
		}
		close(proceed)
		b.stop()
	})
}

func TestPanicInCancel(t *testing.T) {
	t.Parallel()
	began := make(chan context.Context, 1)
	x := untilStopped(began)
	x.cancel = func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) { panic("no") }
	b := start(t, engine.Config{}, x)
	id := b.send(now(text("hi"))).Head.ID
	<-began
	if got, err := b.cancelTask(id); err != nil || got.Head.State != task.Canceled {
		t.Errorf("Cancel = %+v, %v; want CANCELED all the same", got, err)
	}
}
