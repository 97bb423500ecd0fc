package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// known sets the alias of a message.
func known(alias string, r *op.Send) *op.Send {
	r.Alias = alias
	return r
}

var byAlias = op.Target{Aliases: true}

// A caller that asks for aliases finds, by every operation on a task, the newest task that one
// of its messages with the alias created or continued.
func TestAliasesOfTasks(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, asking())
	first := b.send(known("m1", text("a")))
	second := b.send(known("m2", text("a")))
	b.send(known("m2", reply(first.Head.ID, "b")))
	b.send(known("m3", reply(second.Head.ID, "b")))
	ended := b.send(known("m1", text("f")))
	for alias, want := range map[a2a.TaskID]task.Head{
		"m1": ended.Head, "m2": second.Head, "m3": second.Head, first.Head.ID: first.Head,
	} {
		a, err := b.Get(t.Context(), alice, &op.Get{Target: byAlias, ID: alias})
		if err != nil || a.Head.ID != want.ID {
			t.Errorf("Get(%s) = %+v, %v, want %s", alias, a, err, want.ID)
		}
	}
	open := b.send(known("m4", text("a")))
	st, err := b.Subscribe(t.Context(), alice, &op.Subscribe{Target: byAlias, ID: "m4"})
	if err != nil {
		t.Fatalf("Subscribe = %v", err)
	}
	st.Close()
	if st.Task.ID != open.Head.ID {
		t.Errorf("Subscribe has %s, want %s", st.Task.ID, open.Head.ID)
	}
	a, err := b.Cancel(t.Context(), alice, &op.Cancel{Target: byAlias, ID: "m4"})
	if err != nil || a.Head.ID != open.Head.ID || a.Head.State != task.Canceled {
		t.Errorf("Cancel = %+v, %v, want %s canceled", a, err, open.Head.ID)
	}
}

// An alias belongs to its owner, and is no task id for callers that do not ask for aliases.
func TestAliasesArePrivate(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, asking())
	b.send(known("m1", text("a")))
	b.send(known(strings.Repeat("x", 129), text("a")))
	for name, tt := range map[string]struct {
		caller *op.Caller
		get    op.Get
	}{
		"another owner":  {caller("bob"), op.Get{Target: byAlias, ID: "m1"}},
		"not asked for":  {alice, op.Get{ID: "m1"}},
		"no alias":       {alice, op.Get{Target: byAlias, ID: "m2"}},
		"too long a one": {alice, op.Get{Target: byAlias, ID: a2a.TaskID(strings.Repeat("x", 129))}},
	} {
		if a, err := b.Get(t.Context(), tt.caller, &tt.get); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("%s: Get = %+v, %v, want ErrTaskNotFound", name, a, err)
		}
	}
	if !b.Aliased(t.Context(), alice, "m1") || b.Aliased(t.Context(), caller("bob"), "m1") || b.Aliased(t.Context(), alice, "m2") {
		t.Error("Aliased knows other aliases than alice's m1")
	}
}

// A repeated job finds the task that it continued the first time.
func TestOnceKnowsWhatItContinued(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, asking())
	job := func(id a2a.TaskID, s string) *op.Send {
		r := in("travel", once(id, s))
		r.Resume = true
		return r
	}
	first := b.send(job("j1", "a"))
	second := b.send(job("j2", "Oslo"))
	if second.Head.ID != first.Head.ID || second.Head.State != task.Completed {
		t.Fatalf("j2 = %+v, want %s completed", second.Head, first.Head.ID)
	}
	for range 2 {
		if again := b.send(job("j2", "Oslo")); again.Head.ID != first.Head.ID || again.Head.Version != second.Head.Version {
			t.Errorf("j2 again = %+v, want %+v", again.Head, second.Head)
		}
	}
}
