package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// stuck blocks in its first execution, ignoring its context, until let is closed. It then
// yields an event that must be ignored. Later executions answer.
type stuck struct {
	began chan context.Context
	let   chan struct{}
	calls chan *agent.Call
}

func newStuck() *stuck {
	return &stuck{make(chan context.Context, 1), make(chan struct{}), make(chan *agent.Call, 3)}
}

func (s *stuck) executor() *executor {
	first := true
	return &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		s.calls <- agent.CallFrom(ctx)
		if !first {
			yield(status(ec, a2a.TaskStateCompleted, "second"), nil)
			return
		}
		first = false
		_ = agent.CallFrom(ctx).Checkpoint([]byte("half"))
		yield(status(ec, a2a.TaskStateWorking, ""), nil)
		_ = agent.CallFrom(ctx).Flush(ctx)
		s.began <- ctx
		<-s.let
		if yield(status(ec, a2a.TaskStateFailed, "first"), nil) {
			panic("an event of a run counts that was fenced")
		}
	}}
}

func TestRedrive(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]func(a2asrv.AgentExecutor) a2asrv.AgentExecutor{
		"plain":     func(x a2asrv.AgentExecutor) a2asrv.AgentExecutor { return x },
		"resumable": resumable,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStuck()
			b := start(t, engine.Config{}, with(s.executor()))
			id := b.send(now(text("hi"))).Head.ID
			ctx := <-s.began
			h, err := b.Redrive(t.Context(), engine.Target{Owner: "alice", ID: id})
			if err != nil || h.State != task.Working && h.State != task.Completed { // the second run may be quick
				t.Fatalf("Redrive = %v, %v", h.State, err)
			}
			<-ctx.Done()
			done := b.wait(id, task.Completed)
			if got := statusText(t, b.get(id)); got != "second" || done.Run.Epoch != 2 {
				t.Errorf("the task ended with %q in epoch %d, want second in 2", got, done.Run.Epoch)
			}
			close(s.let)
			if a, b := <-s.calls, <-s.calls; a.Key != b.Key || b.Attempt != 2 || b.Saved != nil || (name == "resumable") != (string(b.Forgotten) == "half") {
				t.Errorf("the second execution is %s, attempt %d, from %q after %q; want %s, 2 and nothing", b.Key, b.Attempt, b.Saved, b.Forgotten, a.Key)
			}
			if _, err := b.Redrive(t.Context(), engine.Target{Owner: "alice", ID: id}); !errors.Is(err, engine.ErrEnded) {
				t.Errorf("Redrive of a task that has ended = %v", err)
			}
		})
	}
}

func TestOperateRefuses(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, wonders("name?"))
	b.register("other", words("x"))
	id := b.send(text("hi")).Head.ID
	if _, err := b.Redrive(t.Context(), engine.Target{Owner: "alice", ID: id}); !errors.Is(err, engine.ErrNotWaiting) {
		t.Errorf("Redrive of a task that waits for its caller = %v", err)
	}
	if _, err := b.Reassign(t.Context(), engine.Target{Owner: "alice", ID: id}, "other"); !errors.Is(err, engine.ErrNotWaiting) {
		t.Errorf("Reassign of a task that waits for its caller = %v", err)
	}
	for _, to := range []task.Agent{"", "unknown"} {
		if _, err := b.Reassign(t.Context(), engine.Target{Owner: "alice", ID: id}, to); !errors.Is(err, engine.ErrNoAgent) {
			t.Errorf("Reassign to %q = %v", to, err)
		}
	}
	for name, f := range map[string]func() error{
		"redrive": func() error { _, err := b.Redrive(t.Context(), engine.Target{Owner: "bob", ID: id}); return err },
		"fail":    func() error { _, err := b.Fail(t.Context(), engine.Target{Owner: "bob", ID: id}, "no"); return err },
		"reassign": func() error {
			_, err := b.Reassign(t.Context(), engine.Target{Owner: "bob", ID: id}, "other")
			return err
		},
	} {
		if err := f(); !errors.Is(err, task.ErrNotFound) {
			t.Errorf("%s of another owner's task = %v", name, err)
		}
	}
	h, err := b.Fail(t.Context(), engine.Target{Owner: "alice", ID: id}, "the owner is on holiday")
	if err != nil || h.State != task.Failed || statusText(t, b.get(id)) != "the owner is on holiday" {
		t.Errorf("Fail = %v, %v, %q", h.State, err, statusText(t, b.get(id)))
	}
	if _, err := b.Fail(t.Context(), engine.Target{Owner: "alice", ID: id}, "again"); !errors.Is(err, engine.ErrEnded) {
		t.Errorf("Fail of a task that has ended = %v", err)
	}
}

// wonders asks a question, and completes with the answer.
func wonders(question string) *executor {
	return &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, question), nil)
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, "thanks"), nil)
	}}
}

func TestFailStopsTheRun(t *testing.T) {
	t.Parallel()
	began := make(chan context.Context, 1)
	b := start(t, engine.Config{}, untilStopped(began))
	id := b.send(now(text("hi"))).Head.ID
	ctx := <-began
	if _, err := b.Fail(t.Context(), engine.Target{Owner: "alice", ID: id}, "enough"); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if got := statusText(t, b.get(id)); got != "enough" {
		t.Errorf("the status of the task is %q", got)
	}
}

// An operator's operations are entries of the log, which do not count as the agent's.
func TestOperationsAreEntries(t *testing.T) {
	t.Parallel()
	began := make(chan context.Context, 2)
	b := start(t, engine.Config{}, untilStopped(began))
	h := b.send(now(text("hi"))).Head
	<-began
	if _, err := b.Redrive(t.Context(), engine.Target{Owner: h.Owner, ID: h.ID}); err != nil {
		t.Fatal(err)
	}
	<-began
	if _, err := b.Fail(t.Context(), engine.Target{Owner: h.Owner, ID: h.ID, By: `Olga "O"`}, "enough"); err != nil {
		t.Fatal(err)
	}
	entries, err := b.store.Read(t.Context(), h.Key, 0)
	if err != nil {
		t.Fatal(err)
	}
	var operations []string
	for _, en := range entries {
		if en.Kind == task.Status && en.Epoch == 0 && en.Meta != nil {
			operations = append(operations, string(en.Meta))
		}
	}
	want := []string{`{"parley.operator":"redrive"}`, `{"parley.operator":"fail","parley.by":"Olga \"O\""}`}
	if diff := cmp.Diff(want, operations); diff != "" {
		t.Errorf("operations in the log (-want +got):\n%s", diff)
	}
}

// TestRevision checks that an operation is refused if the task has changed since its operator has read it,
// and that the agent's output is no such change.
func TestRevision(t *testing.T) {
	t.Parallel()
	began := make(chan context.Context, 2)
	b := start(t, engine.Config{}, untilStopped(began))
	id := b.send(now(text("hi"))).Head.ID
	h := b.wait(id, task.Working)
	<-began
	old := engine.Target{Owner: "alice", ID: id, Revision: engine.Revision(&h)}
	if _, err := b.Redrive(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	<-began // the second run
	for name, f := range map[string]func(engine.Target) error{
		"redrive":  func(to engine.Target) error { _, err := b.Redrive(t.Context(), to); return err },
		"reassign": func(to engine.Target) error { _, err := b.Reassign(t.Context(), to, h.Agent); return err },
		"fail":     func(to engine.Target) error { _, err := b.Fail(t.Context(), to, "too late"); return err },
	} {
		if err := f(old); !errors.Is(err, engine.ErrChanged) || !strings.Contains(err.Error(), "run 2") {
			t.Errorf("%s by an old revision = %v", name, err)
		}
	}
	h = b.get(id).Head
	if got, err := b.Fail(t.Context(), engine.Target{Owner: "alice", ID: id, Revision: engine.Revision(&h)}, "enough"); err != nil || got.State != task.Failed {
		t.Errorf("fail by the present revision = %v, %v", got.State, err)
	}
}

func TestReassign(t *testing.T) {
	t.Parallel()
	store, began := new(memstore.Store), make(chan context.Context, 1)
	b := start(t, engine.Config{Store: store}, untilStopped(began))
	b.register("other", wonders("name?"))
	id := b.send(now(text("hi"))).Head.ID
	<-began
	h, err := b.Reassign(t.Context(), engine.Target{Owner: "alice", ID: id, By: "Olga"}, "other")
	if err != nil || h.Agent != "main" || h.Assigned != "other" {
		t.Fatalf("Reassign = %q for %q, %v", h.Assigned, h.Agent, err)
	}
	b.wait(id, task.InputRequired)
	entries, err := b.store.Read(t.Context(), h.Key, 0)
	if err != nil {
		t.Fatal(err)
	}
	const noted = `{"parley.operator":"reassign","parley.by":"Olga","parley.from":"main","parley.to":"other"}`
	if !slices.ContainsFunc(entries, func(en task.Entry) bool { return string(en.Meta) == noted }) {
		t.Errorf("no entry of the log has %s", noted)
	}
	// The same agent gets the answer, even after a restart.
	b.stop()
	b = start(t, engine.Config{Store: store}, untilStopped(began))
	b.register("other", wonders("name?"))
	if a := b.send(reply(id, "Ann")); a.Head.State != task.Completed || a.Head.Agent != "main" {
		t.Errorf("the task is %v of %q, want completed of main", a.Head.State, a.Head.Agent)
	}
}

func TestReassignAfterOutput(t *testing.T) {
	t.Parallel()
	sent := make(chan struct{})
	b := start(t, engine.Config{}, &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(chunk(ec, "half", true), nil)
		_ = agent.CallFrom(ctx).Flush(ctx)
		close(sent)
		<-ctx.Done()
	}})
	b.register("other", words("x"))
	id := b.send(now(text("hi"))).Head.ID
	<-sent
	if _, err := b.Reassign(t.Context(), engine.Target{Owner: "alice", ID: id}, "other"); !errors.Is(err, engine.ErrHasOutput) {
		t.Errorf("Reassign of a task whose agent has sent something = %v", err)
	}
	if _, err := b.Fail(t.Context(), engine.Target{Owner: "alice", ID: id}, "x"); err != nil {
		t.Error(err)
	}
}

// TestPause pauses an agent during a run: the run continues, and new messages wait, including
// the answers to its questions.
func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t, engine.Config{Limits: limits.Limits{MaxRuns: 1, MaxQueued: 2}}, wonders("name?"))
		b.register("other", words("x"))
		asking := b.send(text("hi")).Head.ID
		b.Pause("main")
		b.Pause("main")
		if got := b.Paused(); !slices.Equal(got, []task.Agent{"main"}) {
			t.Errorf("Paused = %v", got)
		}
		fresh := b.send(now(text("fresh"))).Head.ID
		b.send(now(reply(asking, "Ann")))
		synctest.Wait()
		for _, id := range []a2a.TaskID{fresh, asking} {
			if h := b.get(id).Head; h.Run.Dispatch != task.Pending || !h.Waiting() {
				t.Errorf("task %s is %v, dispatch %v, want one that waits", id, h.State, h.Run.Dispatch)
			}
		}
		other := text("x")
		other.Agent = "other"
		if a := b.send(other); a.Head.State != task.Completed {
			t.Errorf("another agent is held up: %v", a.Head.State)
		}
		if _, err := b.Send(t.Context(), alice, now(text("third"))); err == nil {
			t.Error("more tasks wait than may")
		}
		b.Resume("main")
		b.Resume("main")
		synctest.Wait()
		if h := b.get(asking).Head; h.State != task.Completed {
			t.Errorf("after Resume the answered task is %v", h.State)
		}
		if h := b.get(fresh).Head; h.State != task.InputRequired {
			t.Errorf("after Resume the new task is %v", h.State)
		}
		if got := b.Paused(); len(got) != 0 || b.IsPaused("main") {
			t.Errorf("Paused = %v", got)
		}
	})
}

// TestPauseBeforeAMessage pauses an agent while a message waits for the end of a run. A reader that
// subscribes then sees the events of the next run.
func TestPauseBeforeAMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan bool)
		b := start(t, engine.Config{}, &executor{
			run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				if ec.StoredTask == nil && yield(status(ec, a2a.TaskStateWorking, ""), nil) {
					<-proceed
					yield(status(ec, a2a.TaskStateInputRequired, "name?"), nil)
					return
				}
				yield(status(ec, a2a.TaskStateCompleted, ec.Message.Parts[0].Text()), nil)
			},
		})
		id := b.send(now(text("hi"))).Head.ID
		synctest.Wait()
		b.send(now(reply(id, "Ann")))
		b.Pause("main")
		proceed <- true
		synctest.Wait()
		s, err := b.Subscribe(t.Context(), alice, &op.Subscribe{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		b.Resume("main")
		synctest.Wait()
		if all, err := s.Next(t.Context(), time.Second); err != nil || len(all) == 0 || all[len(all)-1].State != task.Completed {
			t.Errorf("the reader got %v, %v", all, err)
		}
		s.Close()
		if h := b.get(id).Head; h.State != task.Completed {
			t.Errorf("the task is %v", h.State)
		}
	})
}

// TestPauseOverRestart: waiting messages are still there, and started runs continue.
func TestPauseOverRestart(t *testing.T) {
	t.Parallel()
	store, began := new(memstore.Store), make(chan context.Context, 1)
	b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, idempotent(untilStopped(began)))
	running := b.send(now(text("hi"))).Head.ID
	<-began
	b.Pause("main")
	waiting := b.send(now(text("later"))).Head.ID
	b.stop()

	e := &bench{Engine: engine.New(engine.Config{Store: store}), t: t, store: store, done: make(chan error, 1)}
	e.register("main", idempotent(words("x")))
	e.Pause("main")
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	go func() { e.done <- e.Run(ctx) }()
	t.Cleanup(func() { e.stop() })
	e.wait(running, task.Completed)
	if h := e.get(waiting).Head; h.State != task.Submitted {
		t.Errorf("the task that waited is %v", h.State)
	}
	e.Resume("main")
	e.wait(waiting, task.Completed)
}
