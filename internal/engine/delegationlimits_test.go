package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/task"
)

// TestCircle lets an agent delegate to one that delegates back to it.
func TestCircle(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{TokenKey: make([]byte, 32)}, asks("other", "", nil))
	b.register("other", asks("main", "", nil))
	got := statusText(t, b.send(text("hi")))
	const want = "in a circle: main@6b6e12e3977f → other@6b6e12e3977f → main@6b6e12e3977f"
	if !strings.Contains(got, want) {
		t.Errorf("the answer is %q, want %q", got, want)
	}
	if got := len(b.tasksOf("main")); got != 1 {
		t.Errorf("%d tasks of main, want the first alone", got)
	}
}

// TestHops builds a chain of agents that is one longer than allowed.
func TestHops(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{Limits: limits.Limits{Hops: 3}}, asks("a1", "", nil))
	for i := 1; i < 4; i++ {
		b.register(task.Agent(fmt.Sprintf("a%d", i)), asks(task.Agent(fmt.Sprintf("a%d", i+1)), "", nil))
	}
	b.register("a4", words("never"))
	got := statusText(t, b.send(text("hi")))
	if want := "the delegation chain is too long: main@"; !strings.Contains(got, want) || len(b.tasksOf("a3")) != 1 || len(b.tasksOf("a4")) != 0 {
		t.Errorf("the answer is %q, want %q; a3 has %d tasks, a4 %d", got, want, len(b.tasksOf("a3")), len(b.tasksOf("a4")))
	}
}

// TestBudget lets an agent delegate until its budget is spent, and once more after a further
// message.
func TestBudget(t *testing.T) {
	t.Parallel()
	greedy := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		for n := 0; ; n++ {
			if _, err := agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{Agent: "other", Message: ec.Message}); err != nil {
				yield(status(ec, a2a.TaskStateInputRequired, fmt.Sprint(n, " ", err)), nil)
				return
			}
		}
	}}
	b := start(t, engine.Config{Limits: limits.Limits{Delegations: 5}}, greedy)
	b.register("other", words("ok"))
	a := b.send(text("hi"))
	if got, want := statusText(t, a), "the budget of this work is used up: main@"; !strings.Contains(got, want) {
		t.Errorf("the answer is %q, want %q", got, want)
	}
	// Each of the first children gets a share of the budget of five for itself.
	n := len(b.tasksOf("other"))
	if n < 2 || n > 5 {
		t.Errorf("%d tasks were begun, want two to five", n)
	}
	again := b.send(reply(a.Head.ID, "continue"))
	if got := statusText(t, again); !strings.HasPrefix(got, "0 ") || len(b.tasksOf("other")) != n {
		t.Errorf("after a further message the answer is %q with %d tasks, want none begun", got, len(b.tasksOf("other")))
	}
}

// TestDeadline lets an agent work longer than the deadline of its caller.
func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := make(chan context.Context, 1)
		b := start(t, engine.Config{}, untilStopped(began))
		r := text("hurry")
		r.Metadata = []byte(`{"parley.deadline":"` + time.Now().Add(time.Minute).UTC().Format(time.RFC3339Nano) + `"}`)
		at := time.Now()
		a := b.send(r)
		if got := statusText(t, a); a.Head.State != task.Failed || !strings.Contains(got, "deadline of the task has passed") {
			t.Errorf("the task is %v, %q", a.Head.State, got)
		}
		if took := time.Since(at); took < time.Minute || took > time.Minute+time.Second {
			t.Errorf("it took %v, want a minute", took)
		}
		late := text("late")
		late.Metadata = r.Metadata
		if _, err := b.Send(t.Context(), alice, late); !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("Send after the deadline = %v, want it refused", err)
		}
		b.stop()
	})
}

// TestInvalidDelegationContexts sends invalid delegation contexts.
func TestInvalidDelegationContexts(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, words("ok"))
	for _, meta := range []string{
		`{"parley.chain":"a@b"}`, `{"parley.chain":[1]}`, `{"parley.chain":["a b"]}`, `{"parley.chain":["a@b","a@b"]}`,
		`{"parley.chain":["` + strings.Repeat("x", 129) + `"]}`, `{"parley.hops":-1}`, `{"parley.hops":"many"}`,
		`{"parley.budget":1e10}`, `{"parley.budget":9.5}`, `{"parley.deadline":"tomorrow"}`, `{"parley.deadline":7}`,
	} {
		r := text("hi")
		r.Metadata = []byte(meta)
		var f *apierror.Error
		if _, err := b.Send(t.Context(), alice, r); !errors.Is(err, a2a.ErrInvalidParams) || !errors.As(err, &f) || len(f.Violations) != 1 {
			t.Errorf("Send with %s = %v, want the field refused", meta, err)
		}
	}
}
