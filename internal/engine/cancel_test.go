package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
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
