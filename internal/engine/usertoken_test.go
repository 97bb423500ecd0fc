package engine_test

import (
	"context"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/usertoken"
	"github.com/parley-a2a/parley/task"
)

// shows asks for input with the token that it has; the second time it completes.
func shows(hold <-chan struct{}) *executor {
	return &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if hold != nil {
			<-hold
		}
		state := a2a.TaskStateCompleted
		if ec.StoredTask == nil {
			state = a2a.TaskStateInputRequired
		}
		yield(status(ec, state, "token "+usertoken.From(ctx).Reveal()), nil)
	}}
}

func with(token string) *op.Caller {
	return &op.Caller{Principal: alice.Principal, Bearer: usertoken.New(token)}
}

// TestBearers: a run has the token that came with its message, even if the message was queued,
// and no other.
func TestBearers(t *testing.T) {
	t.Parallel()
	store, hold := new(memstore.Store), make(chan struct{})
	b := start(t, engine.Config{Store: store, Limits: limits.Limits{MaxRuns: 1}, Bearers: true}, shows(hold))
	var ids []a2a.TaskID
	for _, token := range []string{"one", "two", ""} {
		a, err := b.Send(t.Context(), with(token), now(text("hi")))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.Head.ID)
	}
	close(hold)
	for i, want := range []string{"token one", "token two", "token "} {
		b.wait(ids[i], task.InputRequired)
		if got := statusText(t, b.get(ids[i])); got != want {
			t.Errorf("task %d has %q, want %q", i, got, want)
		}
	}
	for i, token := range []string{"", "later", "later still"} {
		r := text("more")
		r.Message.TaskID = ids[i]
		a, err := b.Send(t.Context(), with(token), r)
		if err != nil {
			t.Fatal(err)
		}
		if got := statusText(t, a); got != "token "+token {
			t.Errorf("after an answer with the token %q task %d has %q", token, i, got)
		}
	}
}

// TestBearersAreForgotten: a task that is read after its run has ended has no token any more.
func TestBearersAreForgotten(t *testing.T) {
	t.Parallel()
	began := make(chan context.Context, 1)
	b := start(t, engine.Config{Limits: limits.Limits{DrainTimeout: -1}}, untilStopped(began))
	a, err := b.Send(t.Context(), with("mine"), now(text("hi")))
	if err != nil {
		t.Fatal(err)
	}
	<-began
	s, err := b.Subscribe(t.Context(), alice, &op.Subscribe{ID: a.Head.ID})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := engine.Holds(b.Engine); got.Bearers != 1 {
		t.Errorf("during the run the hub holds %+v, want a token", got)
	}
	b.stop()
	if got := engine.Holds(b.Engine); got.Live != 1 || got.Bearers != 0 {
		t.Errorf("after the run the hub holds %+v, want a task without a token", got)
	}
}

// TestBearersStayHere: neither a delegation of an agent nor a task recovered by a later process
// has a token.
func TestBearersStayHere(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{Bearers: true}, asks("other", "", nil))
	b.register("other", &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(status(ec, a2a.TaskStateCompleted, "token "+usertoken.From(ctx).Reveal()), nil)
	}})
	a, err := b.Send(t.Context(), with("mine"), text("hi"))
	if err != nil {
		t.Fatal(err)
	}
	if got := statusText(t, a); got != "token " {
		t.Errorf("the other agent has %q", got)
	}

	store, began := new(memstore.Store), make(chan context.Context, 1)
	b = start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, idempotent(untilStopped(began)))
	if a, err = b.Send(t.Context(), with("mine"), now(text("hi"))); err != nil {
		t.Fatal(err)
	}
	if got := usertoken.From(<-began).Reveal(); got != "mine" {
		t.Errorf("the run has %q", got)
	}
	b.stop()
	b = startTwo(t, store, idempotent(&executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(status(ec, a2a.TaskStateCompleted, "token "+usertoken.From(ctx).Reveal()), nil)
	}}), words())
	b.wait(a.Head.ID, task.Completed)
	if got := statusText(t, b.get(a.Head.ID)); got != "token " {
		t.Errorf("after a restart the run has %q", got)
	}
}
