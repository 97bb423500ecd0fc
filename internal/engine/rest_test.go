package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/execution"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

var mayRest = agent.Traits{Away: true, NoMessage: true}

// resting rests, until a run finds that done is closed: that one completes the task. It sends
// each call to received.
func resting(done <-chan struct{}, received chan<- *agent.Call) *executor {
	return &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		c := agent.CallFrom(ctx)
		_ = agent.CallFrom(ctx).Checkpoint([]byte(string(c.Saved) + "."))
		if agent.CallFrom(ctx).Flush(ctx) != nil {
			return
		}
		received <- c
		select {
		case <-done:
			yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
		default:
			yield(nil, execution.ErrResting)
		}
	}}
}

func (b *bench) rouse(id a2a.TaskID) {
	b.t.Helper()
	if err := b.Rouse(b.t.Context(), alice.Principal.Owner(), id, nil); err != nil {
		b.t.Fatal(err)
	}
}

// TestRoused: a run that rests occupies nothing. The next one continues from its checkpoint,
// in the same process and in the next one.
func TestRoused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, done, received := new(memstore.Store), make(chan struct{}), make(chan *agent.Call, 10)
		x := agent.With(resting(done, received), mayRest)
		cfg := engine.Config{Store: store, Limits: limits.Limits{MaxAway: 1, DrainTimeout: -1}}
		b := start(t, cfg, x)
		first, second := b.send(now(text("a"))).Head.ID, b.send(now(text("b"))).Head.ID
		synctest.Wait()
		if got := b.Stats(); got.Runs != 0 || got.Queued != 0 || len(received) != 2 {
			t.Fatalf("%d runs, %d in line, %d executions; want none and 2", got.Runs, got.Queued, len(received))
		}
		b.rouse(first)
		synctest.Wait()
		if err := b.stop(); err != nil {
			t.Fatal(err)
		}
		b = start(t, cfg, x)
		synctest.Wait()
		var calls []string
		for len(received) > 0 {
			c := <-received
			calls = append(calls, fmt.Sprintf("%s %q", agent.Text(message(t, c)), c.Saved))
		}
		slices.Sort(calls[3:]) // both were revived at one time
		want := []string{`a ""`, `b ""`, `a "."`, `a ".."`, `b "."`}
		if fmt.Sprint(calls) != fmt.Sprint(want) {
			t.Errorf("the executions are %q, want %q", calls, want)
		}
		close(done)
		b.rouse(second)
		b.rouse(first)
		b.wait(first, task.Completed)
		b.wait(second, task.Completed)
		synctest.Wait()
		b.rouse(first)
		synctest.Wait()
		if len(received) != 2 {
			t.Errorf("%d executions end two tasks", len(received))
		}
	})
}

func message(t *testing.T, c *agent.Call) *a2a.Message {
	t.Helper()
	m, err := task.DecodeMessage(c.Message)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRouseThatCannotLaunch: a roused task waits for a place, and its agent is removed meanwhile. The
// caller of Rouse is notified nevertheless, and the task fails.
func TestRouseThatCannotLaunch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		received, leave := make(chan *agent.Call, 10), make(chan struct{})
		b := start(t, engine.Config{Limits: limits.Limits{MaxAway: 1}}, agent.With(resting(nil, received), mayRest))
		b.register("holder", agent.With(&executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			<-leave
			yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
		}}, mayRest))
		id := b.send(now(text("rest"))).Head.ID
		synctest.Wait()
		hold := now(text("hold"))
		hold.Target.Agent = "holder"
		b.send(hold)
		synctest.Wait()
		begun := make(chan struct{})
		if err := b.Rouse(t.Context(), alice.Principal.Owner(), id, func() { close(begun) }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		select {
		case <-begun:
			t.Fatal("the run has begun without a place")
		default:
		}
		if err := b.Unregister("main"); err != nil {
			t.Fatal(err)
		}
		close(leave)
		b.wait(id, task.Failed)
		synctest.Wait()
		select {
		case <-begun:
		default:
			t.Error("the caller of Rouse waits for a run that never begins")
		}
	})
}

// TestRousedMeanwhile: a task that is roused while it goes to rest gets one more run.
func TestRousedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, proceed := make(chan struct{}, 10), make(chan bool)
		b := start(t, engine.Config{}, agent.With(&executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			_ = agent.CallFrom(ctx).Flush(ctx)
			began <- struct{}{}
			if <-proceed {
				yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
				return
			}
			yield(nil, execution.ErrResting)
		}}, mayRest))
		id := b.send(now(text("hi"))).Head.ID
		<-began
		b.rouse(id)
		b.rouse(id)
		proceed <- false
		<-began
		proceed <- true
		b.wait(id, task.Completed)
		synctest.Wait()
		if len(began) != 0 {
			t.Error("there is a third run")
		}
	})
}

// TestRousedWithoutAgent: a task that is roused while it goes to rest, and whose agent is removed meanwhile,
// rests until its agent is there again.
func TestRousedWithoutAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan bool)
		x := agent.With(&executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			_ = agent.CallFrom(ctx).Flush(ctx)
			if <-proceed {
				yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
				return
			}
			yield(nil, execution.ErrResting)
		}}, mayRest)
		b := start(t, engine.Config{}, x)
		id := b.send(now(text("hi"))).Head.ID
		b.rouse(id)
		if err := b.Unregister("main"); err != nil {
			t.Fatal(err)
		}
		proceed <- false
		synctest.Wait()
		if h := b.get(id).Head; h.State.Terminal() || b.Stats().Runs != 0 {
			t.Fatalf("the task is %v, with %d runs; want it to rest", h.State, b.Stats().Runs)
		}
		b.register("main", x)
		b.rouse(id)
		proceed <- true
		b.wait(id, task.Completed)
	})
}

// TestOperationsOnRestingTasks cancels, redrives, fails and continues tasks that rest.
func TestOperationsOnRestingTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		done, received := make(chan struct{}), make(chan *agent.Call, 10)
		b := start(t, engine.Config{}, agent.With(resting(done, received), mayRest))
		owner := alice.Principal.Owner()
		var ids []a2a.TaskID
		for i := range 4 {
			ids = append(ids, b.send(now(text(fmt.Sprint(i)))).Head.ID)
		}
		synctest.Wait()
		if a, err := b.Cancel(t.Context(), alice, &op.Cancel{ID: ids[0]}); err != nil || a.Head.State != task.Canceled {
			t.Errorf("Cancel = %+v, %v", a, err)
		}
		if h, err := b.Fail(t.Context(), engine.Target{Owner: owner, ID: ids[1]}, "broken"); err != nil || h.State != task.Failed {
			t.Errorf("Fail = %v, %v", h.State, err)
		}
		b.rouse(ids[0])
		b.rouse(ids[1])
		synctest.Wait()
		if len(received) != 4 {
			t.Errorf("%d executions, want 4: ended tasks are not roused", len(received))
		}
		close(done)
		if _, err := b.Redrive(t.Context(), engine.Target{Owner: owner, ID: ids[2]}); err != nil {
			t.Errorf("Redrive = %v", err)
		}
		b.wait(ids[2], task.Completed)
		b.send(now(reply(ids[3], "more"))) // it waits for the end of the first message
		b.rouse(ids[3])
		b.wait(ids[3], task.Completed)
	})
}

// TestSerialAgentsDoNotRest: otherwise the next task of the context would begin.
func TestSerialAgentsDoNotRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		traits := mayRest
		traits.Serial = true
		b := start(t, engine.Config{}, agent.With(resting(nil, make(chan *agent.Call, 1)), traits))
		if a := b.send(text("hi")); a.Head.State != task.Failed {
			t.Errorf("the task is %v, want failed", a.Head.State)
		}
	})
}

// TestManyRestingTasksAtStart: an engine with many resting tasks is ready before their runs
// begin, and few of them begin at one time.
func TestManyRestingTasksAtStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 1500
		store, done, received := new(memstore.Store), make(chan struct{}), make(chan *agent.Call, n)
		b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, agent.With(resting(done, received), mayRest))
		for i := range n {
			b.send(now(text(fmt.Sprint(i))))
		}
		synctest.Wait()
		if err := b.stop(); err != nil || len(received) != n {
			t.Fatalf("%d executions, %v", len(received), err)
		}
		proceed := make(chan struct{})
		b = start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, agent.With(&executor{run: func(ctx context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			<-proceed
			_ = agent.CallFrom(ctx).Flush(ctx)
			<-received
			yield(nil, execution.ErrResting)
		}}, mayRest))
		synctest.Wait()
		if got := b.Stats(); got.Runs != 256 || runtime.NumGoroutine() > n {
			t.Errorf("%d runs begin at one time, with %d goroutines", got.Runs, runtime.NumGoroutine())
		}
		close(proceed)
		synctest.Wait()
		if got := b.Stats(); got.Runs != 0 || len(received) != 0 {
			t.Errorf("%d runs are left, and %d tasks had none", got.Runs, len(received))
		}
	})
}
