package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/task"
)

// exhausted fails the test unless err asks the caller to try again later.
func exhausted(t *testing.T, err error) {
	t.Helper()
	var f *apierror.Error
	if !errors.Is(err, apierror.ErrExhausted) || !errors.As(err, &f) || f.RetryAfter <= 0 {
		t.Errorf("err = %#v, want ErrExhausted with RetryAfter", err)
	}
}

// The tasks of a caller that run or are queued are limited; other callers are not affected.
func TestTasksPerCaller(t *testing.T) {
	t.Parallel()
	began := make(chan context.Context, 10)
	b := start(t, engine.Config{Limits: limits.Limits{TasksPerCaller: 2, MaxRuns: 1, DrainTimeout: -1}}, untilStopped(began))
	first := b.send(now(text("runs")))
	b.send(now(text("waits in line")))
	_, err := b.Send(t.Context(), alice, now(text("one too many")))
	exhausted(t, err)
	_, err = b.Stream(t.Context(), alice, text("one too many"))
	exhausted(t, err)
	if _, err := b.Send(t.Context(), caller("bob"), now(text("bob's"))); err != nil {
		t.Errorf("another caller is refused: %v", err)
	}
	// A message for a task that is at work already does not count as a further task.
	b.send(now(reply(first.Head.ID, "more")))
	if _, err := b.Cancel(t.Context(), alice, &op.Cancel{ID: first.Head.ID}); err != nil {
		t.Fatal(err)
	}
	b.send(now(text("in its place")))
	_, err = b.Send(t.Context(), alice, now(text("one too many")))
	exhausted(t, err)
}

// A caller that is notified that its task has ended, or waits for it, can start the next one at
// once.
func TestEndedTasksMakeRoom(t *testing.T) {
	t.Parallel()
	asks := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(status(ec, a2a.TaskStateInputRequired, "well?"), nil)
	}}
	brief := &executor{run: func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("hi")), nil)
	}}
	refuses := &executor{run: func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(nil, a2a.ErrInvalidParams)
	}}
	for name, x := range map[string]a2asrv.AgentExecutor{
		"completes": words("a", "b"), "asks": asks, "brief": brief, "refuses": refuses,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, engine.Config{Limits: limits.Limits{TasksPerCaller: 1}}, x)
			for i := range 50 {
				_, err := b.Send(t.Context(), alice, text(fmt.Sprint(i)))
				if err != nil && !errors.Is(err, a2a.ErrInvalidParams) {
					t.Fatalf("message %d: %v", i, err)
				}
			}
			if n := engine.BusyCallers(b.Engine); n != 0 {
				t.Errorf("%d callers are remembered, want none", n)
			}
		})
	}
}

// A task that waited for its caller counts again when it is answered. Without a free place it
// remains waiting.
func TestAnswerNeedsRoom(t *testing.T) {
	t.Parallel()
	var held atomic.Int64
	x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		switch {
		case ec.Message.Parts[0].Text() == "hold":
			held.Add(1)
			if yield(status(ec, a2a.TaskStateWorking, ""), nil) {
				<-ctx.Done()
			}
		case ec.StoredTask == nil:
			yield(status(ec, a2a.TaskStateInputRequired, "well?"), nil)
		default:
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
		}
	}}
	b := start(t, engine.Config{Limits: limits.Limits{TasksPerCaller: 1}}, x)
	asked := b.send(text("ask me"))
	busy := b.send(now(text("hold")))
	_, err := b.Send(t.Context(), alice, reply(asked.Head.ID, "answer"))
	exhausted(t, err)
	if got := b.get(asked.Head.ID).Head; got.State != task.InputRequired || got.Version != asked.Head.Version {
		t.Errorf("task = %v at v%d, want it unchanged", got.State, got.Version)
	}
	if _, err := b.Cancel(t.Context(), alice, &op.Cancel{ID: busy.Head.ID}); err != nil {
		t.Fatal(err)
	}
	if got := b.send(reply(asked.Head.ID, "answer")); got.Head.State != task.Completed {
		t.Errorf("state = %v, want COMPLETED", got.Head.State)
	}
}

// Of concurrent messages, exactly the allowed number is admitted.
func TestTasksSideBySide(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{Limits: limits.Limits{TasksPerCaller: 5, DrainTimeout: -1}}, untilStopped(nil))
	var wg sync.WaitGroup
	var admitted atomic.Int64
	for i := range 40 {
		wg.Go(func() {
			_, err := b.Send(t.Context(), alice, now(text(fmt.Sprint(i))))
			if err == nil {
				admitted.Add(1)
			} else if !errors.Is(err, apierror.ErrExhausted) {
				t.Errorf("Send: %v", err)
			}
		})
	}
	wg.Wait()
	if n := admitted.Load(); n != 5 {
		t.Errorf("%d tasks were admitted, want 5", n)
	}
}

// An existing task with an id that a caller has chosen keeps its place when the caller names it
// again.
func TestTasksWithChosenIDs(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{Limits: limits.Limits{TasksPerCaller: 1, DrainTimeout: -1}}, untilStopped(nil))
	named := now(reply("chosen", "first"))
	named.NewIDs = true
	b.send(named)
	b.send(named)
	other := now(reply("other", "first"))
	other.NewIDs = true
	_, err := b.Send(t.Context(), alice, other)
	exhausted(t, err)
}

// Tasks that a hub recovers after a restart count.
func TestRecoveredTasksCount(t *testing.T) {
	t.Parallel()
	store := new(memstore.Store)
	began := make(chan context.Context, 1)
	x := idempotent(&executor{run: func(ctx context.Context, _ *a2asrv.ExecutorContext, _ func(a2a.Event, error) bool) {
		began <- ctx
		<-ctx.Done()
	}})
	stopped(t, store, x, began)
	b := start(t, engine.Config{Store: store, Limits: limits.Limits{TasksPerCaller: 1, DrainTimeout: -1}}, x)
	<-began
	_, err := b.Send(t.Context(), alice, now(text("one too many")))
	exhausted(t, err)
}

// The tasks of a caller at other hubs count, and make room when they end.
func TestTasksAtOtherHubsCount(t *testing.T) {
	t.Parallel()
	s := &hubs{tasksPerCaller: 3}
	a, b := s.join(t, "hub:a", untilStopped(nil)), s.join(t, "hub:b", untilStopped(nil))
	first := a.send(now(text("one")))
	a.send(now(text("two")))
	b.send(now(text("three")))
	for _, hub := range []*bench{a, b} {
		_, err := hub.Send(t.Context(), alice, now(text("one too many")))
		exhausted(t, err)
	}
	if _, err := b.Send(t.Context(), caller("bob"), now(text("bob's"))); err != nil {
		t.Errorf("another caller is refused: %v", err)
	}
	if _, err := a.Cancel(t.Context(), alice, &op.Cancel{ID: first.Head.ID}); err != nil {
		t.Fatal(err)
	}
	b.send(now(text("in its place")))
	_, err := a.Send(t.Context(), alice, now(text("one too many")))
	exhausted(t, err)
}
