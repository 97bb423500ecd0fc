package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// patient waits until the hub drains, and completes when it is executed again.
func patient(traits agent.Traits) a2asrv.AgentExecutor {
	return agent.With(&executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if agent.CallFrom(ctx).Attempt > 1 {
			yield(status(ec, a2a.TaskStateCompleted, "again"), nil)
			return
		}
		if !yield(status(ec, a2a.TaskStateAuthRequired, "waiting"), nil) {
			return
		}
		until, cancel := agent.CallFrom(ctx).UntilDrain(ctx)
		defer cancel()
		<-until.Done()
		if cause := context.Cause(until); !errors.Is(cause, engine.ErrDraining) || ctx.Err() != nil {
			yield(status(ec, a2a.TaskStateFailed, "it ended with "+cause.Error()), nil)
		}
	}}, traits)
}

// TestUntilDrain: a run that waits for a person ends when the engine drains, and continues in
// the next process if it is resumable.
func TestUntilDrain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		traits agent.Traits
		want   task.State
	}{
		"resumable": {agent.Traits{AfterCrash: agent.Resume}, task.Completed},
		// It has ended in a state that waits for its caller.
		"not resumable": {agent.Traits{}, task.AuthRequired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := new(memstore.Store)
				b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: time.Hour}}, patient(tt.traits))
				id := b.send(now(text("hi"))).Head.ID
				synctest.Wait()
				began := time.Now()
				b.stop()
				if took := time.Since(began); took != 0 {
					t.Errorf("the drain took %v", took)
				}
				b = start(t, engine.Config{Store: store}, patient(tt.traits))
				synctest.Wait()
				if a := b.get(id); a.Head.State != tt.want {
					t.Errorf("in the next process the task is %v %q, want %v", a.Head.State, statusText(t, a), tt.want)
				}
				b.stop()
			})
		})
	}
}

// TestQuestionsDoNotHoldUpADrain: an answer may take days.
func TestQuestionsDoNotHoldUpADrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, d := new(memstore.Store), newResponder()
		b := start(t, engine.Config{Store: store, Questions: d, Limits: limits.Limits{DrainTimeout: time.Hour}}, curious())
		id := b.send(now(text("hi"))).Head.ID
		<-d.posed
		began := time.Now()
		b.stop()
		if took := time.Since(began); took != 0 {
			t.Errorf("the drain took %v", took)
		}
		b = start(t, engine.Config{Store: store, Questions: d}, curious())
		if q := <-d.posed; q.Task != id {
			t.Errorf("the question of task %s is asked again, want that of %s", q.Task, id)
		}
		b.stop()
	})
}

// held starts an engine with a task that keeps it draining for an hour.
func held(t *testing.T, cfg engine.Config, x a2asrv.AgentExecutor) *bench {
	t.Helper()
	cfg.DrainTimeout = 2 * time.Hour
	b := start(t, cfg, x)
	b.register("long", &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		select {
		case <-time.After(time.Hour):
			yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
		case <-ctx.Done():
		}
	}})
	r := now(text("hold"))
	r.Agent = "long"
	b.send(r)
	return b
}

// TestQuestionsThatComeWhileDraining: they wait for the next process, which can answer them.
func TestQuestionsThatComeWhileDraining(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, d := new(memstore.Store), newResponder()
		d.err = errors.New("no responder answers while the hub drains")
		slow := curious()
		inner := slow.run
		slow.run = func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			if ec.StoredTask == nil {
				time.Sleep(time.Minute)
			}
			inner(ctx, ec, yield)
		}
		b := held(t, engine.Config{Store: store, Questions: d}, slow)
		id := b.send(now(text("hi"))).Head.ID
		synctest.Wait()
		b.stop()
		if len(d.posed) != 0 {
			t.Error("the question is asked while the engine drains")
		}
		d.err = nil
		b = start(t, engine.Config{Store: store, Questions: d}, slow)
		if q := <-d.posed; q.Task != id || q.Text != "what?" {
			t.Errorf("the question is %+v", q)
		}
		b.stop()
	})
}

// failingResponder replies when the engine drains: it delegates, and fails the task.
type failingResponder struct {
	responder
	asked chan *question.Question
	drain chan struct{}
	err   error
}

func (c *failingResponder) Reply(ctx context.Context, q *question.Question) (question.Reply, error) {
	c.asked <- q
	<-c.drain
	_, c.err = q.Run.Delegate(ctx, &agent.Delegation{Agent: "long", Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("help"))})
	return question.Reply{Fail: "no agent helps"}, nil
}

// TestRepliesWhileDraining: a delegation that is impossible because the engine drains does not
// fail the task.
func TestRepliesWhileDraining(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, c := new(memstore.Store), &failingResponder{asked: make(chan *question.Question, 1), drain: make(chan struct{})}
		b := held(t, engine.Config{Store: store, Questions: c}, curious())
		id := b.send(now(text("hi"))).Head.ID
		<-c.asked
		b.cancel()
		synctest.Wait()
		close(c.drain)
		b.stop()
		if !errors.Is(c.err, engine.ErrDraining) {
			t.Errorf("Delegate while the engine drains: %v, want that it waits for its end", c.err)
		}
		d := newResponder()
		b = start(t, engine.Config{Store: store, Questions: d}, curious())
		if q := <-d.posed; q.Task != id {
			t.Errorf("the question is %+v", q)
		}
		b.stop()
	})
}

// TestUntilDrainIsOver: an executor that no longer waits and ends without a final state has
// failed, even while the engine drains.
func TestUntilDrainIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := agent.With(&executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			_, cancel := agent.CallFrom(ctx).UntilDrain(ctx)
			cancel()
			yield(status(ec, a2a.TaskStateWorking, "at it"), nil)
			time.Sleep(time.Minute)
		}}, agent.Traits{AfterCrash: agent.Resume})
		store := new(memstore.Store)
		b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: time.Hour}}, x)
		id := b.send(now(text("hi"))).Head.ID
		synctest.Wait()
		b.stop()
		b = start(t, engine.Config{Store: store}, x)
		if a := b.get(id); a.Head.State != task.Failed || statusText(t, a) != "agent ended without a final state" {
			t.Errorf("the task is %v %q", a.Head.State, statusText(t, a))
		}
		b.stop()
	})
}

// statusAdder explains in a status why its answer takes time.
type statusAdder struct{ *responder }

func (d statusAdder) Reply(ctx context.Context, q *question.Question) (question.Reply, error) {
	for range 2 { // the second call changes nothing
		if err := q.Run.AddStatus(ctx, q, "please wait"); err != nil {
			return question.Reply{}, err
		}
	}
	return d.responder.Reply(ctx, q)
}

// TestQuestionAddStatus: a status that the hub adds to a question changes neither its version
// nor the number of attempts.
func TestQuestionAddStatus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, attempts := statusAdder{newResponder()}, make(chan int, 10)
		x := curious()
		inner := x.run
		x.run = func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			attempts <- agent.CallFrom(ctx).Attempt
			inner(ctx, ec, yield)
		}
		b := start(t, engine.Config{Questions: d, Limits: limits.Limits{MaxRuns: 1}}, idempotent(x))
		proceed := make(chan struct{})
		b.register("busy", &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			<-proceed
			yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
		}})
		id := b.send(now(text("hi"))).Head.ID
		q := <-d.posed
		a := b.get(id)
		if a.Head.State != task.Working || statusText(t, a) != "please wait" || a.Head.Version != q.Version+1 {
			t.Errorf("the task is %v %q at version %d; the question was at %d", a.Head.State, statusText(t, a), a.Head.Version, q.Version)
		}
		r := now(text("keep the place"))
		r.Agent = "busy"
		b.send(r)
		if err := b.Answer(t.Context(), q, &question.Reply{Text: "that"}); err != nil {
			t.Fatal(err)
		}
		if err := q.Run.AddStatus(t.Context(), q, "too late"); !errors.Is(err, question.ErrAnswered) {
			t.Errorf("AddStatus after the answer: %v, want ErrAnswered", err)
		}
		close(proceed)
		synctest.Wait()
		if a := b.get(id); statusText(t, a) != "that" {
			t.Errorf("the task is %v %q", a.Head.State, statusText(t, a))
		}
		for range 2 {
			if n := <-attempts; n != 1 {
				t.Errorf("the agent is executed as attempt %d, want 1", n)
			}
		}
		b.stop()
	})
}

// TestEventsAfterTheDrain: events that are not stored when the engine fences its runs do not
// count: the next process executes the message again.
func TestEventsAfterTheDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := make(chan struct{})
		x := idempotent(&executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			if agent.CallFrom(ctx).Attempt > 1 {
				_ = yield(chunk(ec, "whole", false), nil) && yield(status(ec, a2a.TaskStateCompleted, "again"), nil)
				return
			}
			if yield(chunk(ec, "half", true), nil) {
				close(began) // the chunk waits for further events for a moment
				<-ctx.Done()
				yield(status(ec, a2a.TaskStateCompleted, "too late"), nil)
			}
		}})
		store := new(memstore.Store)
		b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, x)
		id := b.send(now(text("hi"))).Head.ID
		<-began
		at := time.Now()
		b.stop()
		if took := time.Since(at); took != 0 {
			t.Fatalf("the drain took %v: the chunk may have been stored before it", took)
		}
		h, err := store.Head(t.Context(), "alice", id)
		if err != nil || h.Version != 1 {
			t.Errorf("after the drain the task is at v%d %v, %v; want v1: no event counts", h.Version, h.State, err)
		}
		b = start(t, engine.Config{Store: store}, x)
		b.wait(id, task.Completed)
		a := b.get(id)
		if got := sdkTask(t, a); statusText(t, a) != "again" || len(got.Artifacts) != 1 || len(got.Artifacts[0].Parts) != 1 || got.Artifacts[0].Parts[0].Text() != "whole" {
			t.Errorf("in the next process the task is %v %q with %d artifacts", a.Head.State, statusText(t, a), len(got.Artifacts))
		}
		b.stop()
	})
}

// A hub with others does not wait for runs that they can repeat, and an orderly end does not count among
// the interruptions of a task. It waits for a run that must not be repeated.
func TestDrainHandsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, began := &hubs{drainTimeout: time.Hour}, make(chan context.Context, 10)
		last := h.join(t, "last", words("elsewhere"))
		hub := func(holder task.Holder) *bench {
			b := h.join(t, holder, idempotent(untilStopped(began)))
			b.register("once", &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				select {
				case <-time.After(time.Minute):
					yield(status(ec, a2a.TaskStateCompleted, ""), nil)
				case <-ctx.Done():
				}
			}})
			return b
		}
		b := hub("0")
		id := b.send(now(text("repeat"))).Head.ID
		for i, name := range []task.Holder{"1", "2", "3"} {
			<-began
			next := hub(name)
			var once a2a.TaskID
			want := time.Duration(0)
			if i == 2 {
				r := now(text("once"))
				r.Target.Agent = "once"
				once, want = b.send(r).Head.ID, time.Minute
			}
			s, err := next.Subscribe(t.Context(), alice, &op.Subscribe{ID: id, LastEventID: "1"})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			synctest.Wait() // the next hub knows that a run has read the message
			before := time.Now()
			if err := b.stop(); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(before); took != want {
				t.Errorf("drain %d took %v, want %v", i, took, want)
			}
			if once != "" && last.get(once).Head.State != task.Completed {
				t.Errorf("the task that must not be repeated is %v", last.get(once).Head.State)
			}
			synctest.Wait() // and that it waits again
			h.lose(task.Holder(fmt.Sprint(i)))
			if err := next.TakeOver(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			b = next
		}
		<-began
		if err := b.stop(); err != nil {
			t.Fatal(err)
		}
		h.lose("3")
		if err := last.TakeOver(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if got := last.wait(id, task.Completed).Run; got.Epoch != 5 {
			t.Errorf("run = %+v, want the fifth one", got)
		}
		last.stop()
	})
}
