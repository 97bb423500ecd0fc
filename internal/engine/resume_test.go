package engine_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/task"
)

// asking asks once, and completes with the answer.
func asking() *executor {
	return &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, "which city?"), nil)
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, ec.Message.Parts[0].Text()), nil)
	}}
}

func in(contextID string, r *op.Send) *op.Send {
	r.Message.ContextID, r.Resume = contextID, true
	return r
}

func TestResumeByContext(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, asking())
	b.register("other", asking())
	first := b.send(in("travel", text("a")))
	second := b.send(in("sport", text("b")))
	if first.Head.ID == second.Head.ID || first.Head.State != task.InputRequired {
		t.Fatalf("first %v, second %v", first.Head, second.Head)
	}
	t.Run("another owner", func(t *testing.T) {
		a, err := b.Send(t.Context(), caller("bob"), in("travel", text("c")))
		if err != nil || a.Head.ID == first.Head.ID || a.Head.State != task.InputRequired {
			t.Errorf("Send = %+v, %v; want a task of bob's", a, err)
		}
	})
	t.Run("another agent", func(t *testing.T) {
		r := in("travel", text("d"))
		r.Agent = "other"
		if a := b.send(r); a.Head.ID == first.Head.ID {
			t.Errorf("the message went to the task of %s", a.Head.Agent)
		}
	})
	t.Run("without asking for it", func(t *testing.T) {
		r := in("sport", text("e"))
		r.Resume = false
		if a := b.send(r); a.Head.ID == second.Head.ID {
			t.Error("the message went on with a task")
		}
	})
	got := b.send(in("travel", text("Bergen"))) // the newest question of the context, whoever asks
	if got.Head.Agent != "other" || got.Head.State != task.Completed || statusText(t, got) != "Bergen" {
		t.Errorf("Send = %+v, want the task of other completed", got.Head)
	}
	got = b.send(in("travel", text("Oslo")))
	if got.Head.ID != first.Head.ID || got.Head.State != task.Completed || statusText(t, got) != "Oslo" {
		t.Errorf("Send = %+v, want %s completed", got.Head, first.Head.ID)
	}
	if again := b.send(in("travel", text("f"))); again.Head.ID == first.Head.ID || again.Head.ContextID != "travel" {
		t.Errorf("after the end: %+v, want a new task in the context", again.Head)
	}
}

func TestTaskRemembersItsDialect(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, asking())
	r := text("a")
	r.Dialect = 3
	a := b.send(r)
	if got, ok := b.Dialect(t.Context(), alice, a.Head.ID); got != 3 || !ok {
		t.Errorf("Dialect = %d, %v, want 3", got, ok)
	}
	if got, ok := b.Dialect(t.Context(), caller("bob"), a.Head.ID); ok {
		t.Errorf("another caller learns the dialect %d", got)
	}
	follow := reply(a.Head.ID, "b")
	follow.Dialect = 1
	b.send(follow)
	if got, _ := b.Dialect(t.Context(), alice, a.Head.ID); got != 3 {
		t.Errorf("after a message in another dialect: %d, want 3", got)
	}
}

// A caller that accepts only tasks gets one from an agent that answers with messages.
func TestAnswerMustBeATask(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, &executor{run: func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("good day")), nil)
	}})
	r := text("a")
	r.Task = true
	got := b.send(r)
	if got.Message != nil || got.Head.State != task.Completed || statusText(t, got) != "good day" {
		t.Errorf("Send = %+v, message %s; want a completed task", got.Head, got.Message)
	}
	b.get(got.Head.ID)
}

func once(id a2a.TaskID, s string) *op.Send {
	r := reply(id, s)
	r.NewIDs, r.Once = true, true
	return r
}

func TestOnce(t *testing.T) {
	t.Parallel()
	t.Run("ended", func(t *testing.T) {
		t.Parallel()
		b := start(t, engine.Config{}, words("a", "b"))
		first := b.send(once("job", "a"))
		again := b.send(once("job", "another text"))
		if again.Head.Version != first.Head.Version || again.Head.State != task.Completed {
			t.Errorf("again %+v, the first time %+v", again.Head, first.Head)
		}
		if n := len(sdkTask(t, again).History); n != len(sdkTask(t, first).History) {
			t.Errorf("%d messages", n)
		}
		a, err := b.Send(t.Context(), caller("bob"), once("job", "b"))
		if err != nil || a.Head.Key == first.Head.Key {
			t.Errorf("bob joins alice: %+v, %v", a, err)
		}
	})
	t.Run("waits for its caller", func(t *testing.T) {
		t.Parallel()
		store := new(memstore.Store)
		b := start(t, engine.Config{Store: store}, asking())
		first := b.send(once("job", "a"))
		b.stop()
		// A hub that has not run the task sees from the store that it waits.
		b = start(t, engine.Config{Store: store}, asking())
		if again := b.send(once("job", "a")); again.Head.Version != first.Head.Version || again.Head.State != task.InputRequired {
			t.Errorf("again %+v, the first time %+v", again.Head, first.Head)
		}
	})
	t.Run("canceled before it was read", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := start(t, engine.Config{Limits: limits.Limits{MaxRuns: 1}}, untilStopped(nil))
			b.send(now(text("busy")))
			b.send(now(once("job", "a")))
			if _, err := b.Cancel(t.Context(), alice, &op.Cancel{ID: "job"}); err != nil {
				t.Fatal(err)
			}
			if again := b.send(once("job", "a")); again.Head.State != task.Canceled {
				t.Errorf("again %+v", again.Head)
			}
		})
	})
}
