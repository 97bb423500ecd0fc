package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// sends returns an executor that sends a message to the agent other through the public methods
// of the engine, as a tool does, on behalf of the caller who. It completes with the answer.
func sends(b **bench, user *op.Caller, message func() *op.Send) *executor {
	return &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		s := message()
		s.Agent = "other"
		a, err := (*b).Send(ctx, user, s)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			yield(status(ec, a2a.TaskStateFailed, err.Error()), nil)
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, string(a.Head.ID)), nil)
	}}
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	chosen := func() *op.Send { s := text("hi"); s.Message.TaskID, s.NewIDs = "chosen", true; return s }
	for _, tt := range []struct {
		name    string
		user    *op.Caller
		message func() *op.Send
		child   bool
	}{
		{"new task", alice, func() *op.Send { return text("hi") }, true},
		{"chosen id", alice, chosen, true},
		{"not waited for", alice, func() *op.Send { return now(text("hi")) }, true},
		{"another caller's", caller("bob"), func() *op.Send { return text("hi") }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, b := new(memstore.Store), new(bench)
			b = start(t, engine.Config{Store: store}, sends(&b, tt.user, tt.message))
			b.register("other", words("ok"))
			a := b.send(text("hi"))
			child, err := store.Head(t.Context(), tt.user.Principal.Owner(), a2a.TaskID(statusText(t, a)))
			if err != nil {
				t.Fatal(err)
			}
			want := task.Lineage{}
			if tt.child {
				want = task.Lineage{Parent: a.Head.Key, Root: a.Head.Key, Hops: 1}
			}
			if line, err := task.LineageOf(t.Context(), store, child.Key); err != nil || line != want {
				t.Errorf("Lineage = %+v, %v, want %+v", line, err, want)
			}
		})
	}
}

// TestAdoptedOnce sends a further message to an existing task: the task keeps its lineage.
func TestAdoptedOnce(t *testing.T) {
	t.Parallel()
	store, b := new(memstore.Store), new(bench)
	b = start(t, engine.Config{Store: store}, sends(&b, alice, func() *op.Send { s := reply("mine", "continue"); s.NewIDs = true; return s }))
	b.register("other", asking())
	mine := text("hi")
	mine.Agent, mine.Message.TaskID, mine.NewIDs = "other", "mine", true
	first := b.send(mine)
	if got := statusText(t, b.send(text("hi"))); got != "mine" {
		t.Fatalf("the answer is %q", got)
	}
	if line, err := task.LineageOf(t.Context(), store, first.Head.Key); err != nil || line != (task.Lineage{}) {
		t.Errorf("Lineage = %+v, %v, want none", line, err)
	}
}

func TestCancelOfAdopted(t *testing.T) {
	t.Parallel()
	b, began := new(bench), make(chan context.Context, 1)
	b = start(t, engine.Config{}, &executor{run: func(ctx context.Context, _ *a2asrv.ExecutorContext, _ func(a2a.Event, error) bool) {
		s := now(text("hi"))
		s.Agent = "other"
		if _, err := b.Send(ctx, alice, s); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
	}})
	b.register("other", untilStopped(began))
	a := b.send(now(text("hi")))
	child := <-began
	if _, err := b.Cancel(t.Context(), alice, &op.Cancel{ID: a.Head.ID}); err != nil {
		t.Fatal(err)
	}
	<-child.Done()
	b.wait(b.tasksOf("other")[0].Head.ID, task.Canceled)
}

// TestBudgetOfAdopted creates tasks until the budget is spent.
func TestBudgetOfAdopted(t *testing.T) {
	t.Parallel()
	b := new(bench)
	b = start(t, engine.Config{Limits: limits.Limits{Delegations: 5}}, &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		for n := 0; ; n++ {
			s := text("hi")
			s.Agent = "other"
			if _, err := b.Send(ctx, alice, s); err != nil {
				yield(status(ec, a2a.TaskStateInputRequired, fmt.Sprint(n, " ", err)), nil)
				return
			}
		}
	}})
	b.register("other", words("ok"))
	if got, want := statusText(t, b.send(text("hi"))), "the budget of this work is used up: main@"; !strings.Contains(got, want) {
		t.Errorf("the answer is %q, want %q", got, want)
	}
	if n := len(b.tasksOf("other")); n < 2 || n > 5 {
		t.Errorf("%d tasks were begun, want two to five", n)
	}
}

// TestLineageClaimedByACallerIsIgnored: a tool cannot claim a purpose in the name of the hub.
func TestLineageClaimedByACallerIsIgnored(t *testing.T) {
	t.Parallel()
	b, received := new(bench), make(chan *a2a.Message, 1)
	b = start(t, engine.Config{}, sends(&b, alice, func() *op.Send {
		s := text("hi")
		s.Message.Body = []byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}],"metadata":{"parley.asked":{"by":"main"},"mine":1}}`)
		return s
	}))
	b.register("other", &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		received <- ec.Message
		yield(status(ec, a2a.TaskStateCompleted, "ok"), nil)
	}})
	b.send(text("hi"))
	m := <-received
	if _, there := m.Metadata["parley.asked"]; there || m.Metadata["mine"] == nil {
		t.Errorf("the metadata is %v, want none of the hub", m.Metadata)
	}
}
