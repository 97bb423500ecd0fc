package tasktest

import (
	"context"
	"errors"
	"testing"

	"github.com/parley-a2a/parley/internal/task"
)

// aliasTests are the tests of aliases.
var aliasTests = []storeTest{
	{"AliasNewest", testAliasNewest},
	{"AliasScope", testAliasScope},
	{"AliasHidden", testAliasHidden},
	{"AliasConflict", testAliasConflict},
	{"AliasSweep", testAliasSweep},
}

// called sets the alias of a change.
func called(c *task.Change, alias string) *task.Change {
	c.Alias = alias
	return c
}

// storeCalled stores a change that gives its task an alias, and returns the head.
func storeCalled(t *testing.T, s task.Store, c *task.Change, alias string) task.Head {
	t.Helper()
	if err := s.Append(t.Context(), called(c, alias)); err != nil {
		t.Fatalf("Append with alias %q = %v", alias, err)
	}
	return c.Next
}

// wantAlias fails the test unless the store finds h by the alias.
func wantAlias(t *testing.T, s task.Store, agent task.Agent, alias string, h task.Head) {
	t.Helper()
	got, err := s.ByAlias(t.Context(), h.Owner, agent, alias)
	if err != nil {
		t.Fatalf("ByAlias(%s, %q, %q) = %v", h.Owner, agent, alias, err)
	}
	if d := diff(h, got); d != "" {
		t.Errorf("ByAlias(%s, %q, %q) mismatch (-want +got):\n%s", h.Owner, agent, alias, d)
	}
}

func wantNoAlias(t *testing.T, s task.Store, owner task.Owner, agent task.Agent, alias string) {
	t.Helper()
	if got, err := s.ByAlias(t.Context(), owner, agent, alias); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("ByAlias(%s, %q, %q) = %+v, %v, want ErrNotFound", owner, agent, alias, got, err)
	}
}

// testAliasNewest gives an alias to several tasks, and several aliases to one.
func testAliasNewest(t *testing.T, s task.Store) {
	wantNoAlias(t, s, "anna", "", "m1")
	one := storeCalled(t, s, Step(t, NewHead("anna", "t1"), Created(At(9), "hello")), "m1")
	wantAlias(t, s, "", "m1", one)
	two := storeCalled(t, s, Step(t, NewHead("anna", "t2"), Created(At(1), "hello")), "m2")
	one = storeCalled(t, s, Step(t, one, FollowUp(At(10), "more")), "m2")
	one = storeCalled(t, s, Step(t, one, FollowUp(At(11), "again")), "m2")
	wantAlias(t, s, "", "m1", one)
	wantAlias(t, s, "", "m2", two) // the newer task, although the older one got the alias later
	two = Append(t, s, two, Status(At(12), task.Completed, "done"))
	wantAlias(t, s, "echo", "m2", two)
	wantNoAlias(t, s, "anna", "", "M2")
	wantNoAlias(t, s, "anna", "", "t1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.ByAlias(ctx, "anna", "", "m1"); !errors.Is(err, context.Canceled) {
		t.Errorf("ByAlias with a context that has ended = %v, want the cause", err)
	}
}

// testAliasScope gives one alias to tasks of two owners, and of two agents of one.
func testAliasScope(t *testing.T, s task.Store) {
	sister := NewHead("anna", "t2")
	sister.Agent = "sister"
	first := storeCalled(t, s, Step(t, NewHead("anna", "t1"), Created(At(0), "hello")), "m")
	second := storeCalled(t, s, Step(t, sister, Created(At(0), "hello")), "m")
	other := storeCalled(t, s, Step(t, NewHead("bert", "t1"), Created(At(0), "hello")), "m")
	wantAlias(t, s, "", "m", second)
	wantAlias(t, s, "echo", "m", first)
	wantAlias(t, s, "sister", "m", second)
	wantAlias(t, s, "", "m", other)
	wantNoAlias(t, s, "bert", "sister", "m")
	wantNoAlias(t, s, "carl", "", "m")
}

// testAliasHidden: an alias finds only tasks that callers may see.
func testAliasHidden(t *testing.T, s task.Store) {
	shown := storeCalled(t, s, Step(t, NewHead("anna", "t1"), Created(At(0), "hello")), "m")
	quiet := NewHead("anna", "t2")
	quiet.Visibility = task.Hidden
	quiet = storeCalled(t, s, Step(t, quiet, Created(At(0), "hello")), "m")
	wantAlias(t, s, "", "m", shown)
	c := Step(t, quiet, Status(At(1), task.Working, ""))
	c.Next.Visibility = task.Visible
	wantAlias(t, s, "", "m", storeCalled(t, s, c, ""))
}

// testAliasConflict: a change that is not stored adds no alias.
func testAliasConflict(t *testing.T, s task.Store) {
	old := storeCalled(t, s, Step(t, NewHead("anna", "t1"), Created(At(0), "hello")), "m")
	Append(t, s, old, Status(At(1), task.Working, ""))
	if err := s.Append(t.Context(), called(Step(t, old, FollowUp(At(2), "more")), "new")); !errors.Is(err, task.ErrConflict) {
		t.Errorf("Append from an old head = %v, want ErrConflict", err)
	}
	wantNoAlias(t, s, "anna", "", "new")
}

// testAliasSweep: aliases are deleted with their tasks.
func testAliasSweep(t *testing.T, s task.Store) {
	left := storeCalled(t, s, Step(t, NewHead("anna", "t1"), Created(At(0), "hello")), "m")
	gone := storeCalled(t, s, Step(t, NewHead("anna", "t2"), Created(At(0), "hello")), "m")
	gone = storeCalled(t, s, Step(t, gone, FollowUp(At(1), "more")), "n")
	Append(t, s, gone, Status(At(2), task.Completed, ""))
	if n, err := s.Sweep(t.Context(), At(1000), 10); n != 1 || err != nil {
		t.Fatalf("Sweep = %d, %v, want 1", n, err)
	}
	wantAlias(t, s, "", "m", left)
	wantNoAlias(t, s, "anna", "", "n")
	again := storeCalled(t, s, Step(t, NewHead("anna", "t2"), Created(At(3), "hello")), "n")
	wantAlias(t, s, "", "n", again)
}
