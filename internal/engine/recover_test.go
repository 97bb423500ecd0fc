package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/storetest"
)

// stopped runs an engine on store with x until one task has reached began, and drains it at
// once. It returns the task.
func stopped(t *testing.T, store task.Store, x a2asrv.AgentExecutor, began <-chan context.Context) a2a.TaskID {
	t.Helper()
	b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, x)
	id := b.send(now(text("hi"))).Head.ID
	ctx := <-began
	if err := b.stop(); err != nil {
		t.Fatalf("Run = %v", err)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, engine.ErrDraining) {
		t.Errorf("cause = %v, want ErrDraining", cause)
	}
	return id
}

func TestRecovery(t *testing.T) {
	t.Parallel()
	withOutput := func(began chan context.Context) *executor {
		return &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(chunk(ec, "half", true), nil)
			_ = agent.CallFrom(ctx).Flush(ctx)
			began <- ctx
			<-ctx.Done()
		}}
	}
	tests := []struct {
		name  string
		first func(began chan context.Context) a2asrv.AgentExecutor
		want  task.State
		text  string
	}{
		{"idempotent", func(c chan context.Context) a2asrv.AgentExecutor { return idempotent(untilStopped(c)) }, task.Completed, "done"},
		{"not idempotent", func(c chan context.Context) a2asrv.AgentExecutor { return untilStopped(c) }, task.Failed, "interrupted by restart"},
		{"idempotent but with output", func(c chan context.Context) a2asrv.AgentExecutor { return idempotent(withOutput(c)) }, task.Failed, "interrupted by restart"},
		{"again with output", func(c chan context.Context) a2asrv.AgentExecutor {
			return agent.With(withOutput(c), agent.Traits{AfterCrash: agent.RepeatAfterOutput})
		}, task.Completed, "done"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, began := new(memstore.Store), make(chan context.Context, 1)
			first := tt.first(began)
			id := stopped(t, store, first, began)
			second := agent.With(words("x"), agent.TraitsOf(first))
			b := start(t, engine.Config{Store: store}, second)
			h := b.wait(id, tt.want)
			if got := statusText(t, b.get(id)); got != tt.text {
				t.Errorf("task = %v %q, want %q", h.State, got, tt.text)
			}
		})
	}
}

func TestRecoveryStopsAfterThreeAttempts(t *testing.T) {
	t.Parallel()
	store := new(memstore.Store)
	began := make(chan context.Context, 1)
	id := stopped(t, store, idempotent(untilStopped(began)), began)
	for attempt := 2; attempt <= 3; attempt++ {
		b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, idempotent(untilStopped(began)))
		<-began
		if h := b.get(id).Head; h.Run.Attempt != attempt {
			t.Errorf("attempt = %d, want %d", h.Run.Attempt, attempt)
		}
		b.stop()
	}
	b := start(t, engine.Config{Store: store}, idempotent(words("x")))
	b.wait(id, task.Failed)
	if got, want := statusText(t, b.get(id)), "interrupted by restart in 3 attempts"; got != want {
		t.Errorf("the status of the task is %q, want %q", got, want)
	}
}

func TestPendingCancelWinsOverARerun(t *testing.T) {
	t.Parallel()
	store, began := new(memstore.Store), make(chan context.Context, 1)
	id := stopped(t, store, idempotent(untilStopped(began)), began)
	h, err := store.Head(t.Context(), "alice", id)
	if err != nil {
		t.Fatal(err)
	}
	next := h
	next.Rev++
	next.CancelAt = 1
	if err := store.Append(t.Context(), &task.Change{Prev: h, Next: next}); err != nil {
		t.Fatal(err)
	}
	b := start(t, engine.Config{Store: store}, idempotent(words("x")))
	b.wait(id, task.Canceled)
}

func TestInterruptedTaskSurvivesARestart(t *testing.T) {
	t.Parallel()
	x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, "?"), nil)
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, ec.StoredTask.Status.Message.Parts[0].Text()), nil)
	}}
	store := new(memstore.Store)
	first := start(t, engine.Config{Store: store}, x)
	id := first.send(text("hi")).Head.ID
	first.stop()
	b := start(t, engine.Config{Store: store}, x)
	if h := b.get(id).Head; h.State != task.InputRequired {
		t.Fatalf("state = %v, want it untouched", h.State)
	}
	if got := b.send(reply(id, "yes")); statusText(t, got) != "?" {
		t.Errorf("follow-up = %v %q, want the stored question", got.Head.State, statusText(t, got))
	}
}

func TestStaleEpochIsFenced(t *testing.T) {
	t.Parallel()
	store, began := new(memstore.Store), make(chan context.Context, 1)
	proceed := make(chan struct{})
	x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(status(ec, a2a.TaskStateWorking, ""), nil)
		_ = agent.CallFrom(ctx).Flush(ctx)
		began <- ctx
		<-proceed
		yield(status(ec, a2a.TaskStateCompleted, "from the old run"), nil)
	}}
	b := start(t, engine.Config{Store: store}, x)
	id := b.send(now(text("hi"))).Head.ID
	ctx := <-began
	h, _ := store.Head(t.Context(), "alice", id)
	next := h
	next.Rev++
	next.Run.Epoch++
	next.Run.Holder = "another hub"
	next.Run.Seq = 0
	if err := store.Append(t.Context(), &task.Change{Prev: h, Next: next}); err != nil {
		t.Fatal(err)
	}
	close(proceed)
	<-ctx.Done()
	if h, _ := store.Head(t.Context(), "alice", id); h.State != task.Working || h.Run.Holder != "another hub" {
		t.Errorf("head = %v held by %q, want the other run's task untouched", h.State, h.Run.Holder)
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(status(ec, a2a.TaskStateWorking, ""), nil)
			time.Sleep(3 * time.Second)
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
		}}
		b := start(t, engine.Config{}, x)
		answers := make(chan *engine.Answer, 1)
		go func() { answers <- b.send(text("hi")) }()
		synctest.Wait()
		b.cancel()
		synctest.Wait()
		if _, err := b.Send(t.Context(), alice, text("too late")); err == nil {
			t.Error("Send while draining succeeded")
		}
		for _, c := range b.Ready(t.Context()) {
			if c.Name == "accepting" && c.OK {
				t.Error("ready while draining")
			}
		}
		if got := <-answers; got.Head.State != task.Completed {
			t.Errorf("state = %v, want the run to end by itself while draining", got.Head.State)
		}
		if err := b.stop(); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

func TestDrainNamesExecutorsThatDoNotStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		b := start(t, engine.Config{}, &executor{run: func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) { <-proceed }})
		b.send(now(text("hi")))
		if err := b.stop(); err == nil || !strings.Contains(err.Error(), "1 executors did not stop") {
			t.Errorf("Run = %v, want it to name the executor", err)
		}
		close(proceed)
	})
}

func TestStoreThatFailsAndRecovers(t *testing.T) {
	t.Parallel()
	for _, lie := range []bool{false, true} {
		t.Run(fmt.Sprintf("stored anyway %v", lie), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { failAndRecover(t, lie) })
		})
	}
}

func failAndRecover(t *testing.T, lie bool) {
	store := new(storetest.Store)
	store.Keeps.Store(lie)
	proceed := make(chan struct{})
	x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(status(ec, a2a.TaskStateWorking, ""), nil)
		<-proceed
		for i := range 10 {
			yield(chunk(ec, "x", i < 9), nil)
		}
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}}
	b := start(t, engine.Config{Store: store}, x)
	id := b.send(now(text("hi"))).Head.ID
	synctest.Wait()
	time.Sleep(time.Second)
	synctest.Wait()
	store.Full.Store(true)
	_, err := b.Send(t.Context(), alice, text("refused"))
	if !errors.Is(err, task.ErrFull) || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("Send = %v, want ErrFull", err)
	}
	close(proceed)
	time.Sleep(10 * time.Second)
	synctest.Wait()
	if got := b.get(id); !lie && got.Head.State != task.Working {
		t.Errorf("state = %v while nothing can be stored, want WORKING", got.Head.State)
	}
	if ready := b.Ready(t.Context()); ready[2].OK || !strings.Contains(ready[2].Detail, "full") {
		t.Errorf("ready = %+v, want the store to be named", ready)
	}
	store.Full.Store(false)
	b.wait(id, task.Completed)
	if got := b.get(id).Fold.ReplyText(); got != "xxxxxxxxxx" {
		t.Errorf("the answer is %q, want ten chunks: nothing lost, nothing twice", got)
	}
	time.Sleep(5 * time.Second)
	synctest.Wait()
	if ready := b.Ready(t.Context()); !ready[2].OK {
		t.Errorf("ready = %+v, want the store to work again", ready)
	}
	page, err := b.List(t.Context(), alice, &op.List{PageSize: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range page.Tasks {
		if a.Head.ID != id && a.Head.State != task.Failed {
			t.Errorf("task %s of a refused call is %v, want FAILED", a.Head.ID, a.Head.State)
		}
	}
	b.stop()
}

func TestRetention(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			if ec.Message.Parts[0].Text() == "ask" {
				yield(status(ec, a2a.TaskStateInputRequired, "?"), nil)
				return
			}
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
		}}
		b := start(t, engine.Config{Limits: limits.Limits{Retention: time.Hour, IdleRetention: 2 * time.Hour}}, x)
		done, asked := b.send(text("hi")).Head.ID, b.send(text("ask")).Head.ID
		time.Sleep(time.Hour + 2*time.Minute)
		synctest.Wait()
		if _, err := b.Get(t.Context(), alice, &op.Get{ID: done}); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("Get of an old task = %v, want ErrTaskNotFound", err)
		}
		if h := b.get(asked).Head; h.State != task.InputRequired {
			t.Errorf("interrupted task is %v, want it open", h.State)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := b.get(asked); got.Head.State != task.Failed || !strings.Contains(statusText(t, got), "abandoned") {
			t.Errorf("abandoned task is %v, want FAILED", got.Head.State)
		}
		time.Sleep(time.Hour + 2*time.Minute)
		synctest.Wait()
		if _, err := b.Get(t.Context(), alice, &op.Get{ID: asked}); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("Get = %v, want ErrTaskNotFound", err)
		}
		b.stop()
	})
}

func TestRunsAreQueued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at, most atomic.Int64
		x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			most.Store(max(most.Load(), at.Add(1)))
			time.Sleep(time.Second)
			at.Add(-1)
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
		}}
		b := start(t, engine.Config{Limits: limits.Limits{MaxRuns: 3, MaxQueued: 7}}, x)
		var ids []a2a.TaskID
		for i := range 10 {
			ids = append(ids, b.send(now(text(fmt.Sprint(i)))).Head.ID)
		}
		if _, err := b.Send(t.Context(), alice, now(text("one too many"))); err == nil {
			t.Error("Send beyond MaxQueued succeeded")
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		for _, id := range ids {
			if h := b.get(id).Head; h.State != task.Completed {
				t.Errorf("task %s is %v, want COMPLETED", id, h.State)
			}
		}
		if most.Load() != 3 {
			t.Errorf("%d ran at one time, want 3", most.Load())
		}
		b.stop()
	})
}

func TestSerialAgentRunsOneTaskOfAContextAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var order []string
		x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			order = append(order, "+"+ec.Message.Parts[0].Text())
			time.Sleep(time.Second)
			order = append(order, "-"+ec.Message.Parts[0].Text())
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
		}}
		b := start(t, engine.Config{}, agent.With(x, agent.Traits{Serial: true}))
		for _, s := range []string{"a", "b", "c"} {
			r := now(text(s))
			r.Message.ContextID = "one"
			b.send(r)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		b.stop()
		if got := strings.Join(order, ""); got != "+a-a+b-b+c-c" {
			t.Errorf("order = %s", got)
		}
	})
}

func TestWaitingCallerGetsTheErrorOfAFailingStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(storetest.Store)
		b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, &executor{
			run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				store.Full.Store(true)
				yield(status(ec, a2a.TaskStateCompleted, ""), nil)
			},
		})
		began := time.Now()
		for name, call := range map[string]func() error{
			"send": func() error {
				_, err := b.Send(t.Context(), alice, text("hi"))
				return err
			},
			"stream": func() error {
				_, err := b.Stream(t.Context(), alice, text("hi"))
				return err
			},
		} {
			store.Full.Store(false)
			if err := call(); !errors.Is(err, task.ErrFull) || time.Since(began) > time.Second {
				t.Errorf("%s = %v after %v, want ErrFull at once", name, err, time.Since(began))
			}
		}
		store.Full.Store(false)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		page, err := b.List(t.Context(), alice, &op.List{PageSize: 10})
		if err != nil || page.TotalSize != 2 {
			t.Fatalf("List = %+v, %v; want the two tasks", page, err)
		}
		for _, a := range page.Tasks {
			if a.Head.State != task.Completed {
				t.Errorf("task is %v once the store works, want COMPLETED", a.Head.State)
			}
		}
		b.stop()
	})
}

// TestPermissionIsStillAwaitedAfterACrash: a task whose run waits for a permission shows that while it
// waits for a run after a crash. A caller that saw it at work, and followed it from the status that it
// knows, would wait for a status that does not come again.
func TestPermissionIsStillAwaitedAfterACrash(t *testing.T) {
	t.Parallel()
	store := new(memstore.Store)
	asks := agent.With(&executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if agent.CallFrom(ctx).Attempt > 1 || yield(status(ec, a2a.TaskStateAuthRequired, "may I?"), nil) {
			<-ctx.Done()
		}
	}}, agent.Traits{AfterCrash: agent.Resume, NoMessage: true})
	b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, asks)
	var ids []a2a.TaskID
	for _, word := range []string{"one", "two"} {
		id := b.send(now(text(word))).Head.ID
		b.wait(id, task.AuthRequired)
		ids = append(ids, id)
	}
	for crash := range 3 {
		b.stop()
		b = start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1, MaxRuns: 1}}, asks) // one of the tasks waits for its run
		for _, id := range ids {
			if a := b.get(id); a.Head.State != task.AuthRequired || statusText(t, a) != "may I?" {
				t.Errorf("after crash %d task %s is %v %q, want the request", crash+1, id, a.Head.State, statusText(t, a))
			}
		}
	}
}
