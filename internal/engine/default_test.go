package engine_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/task"
)

// The default agent is the one with the configured name while that is registered, otherwise the
// first.
func TestDefaultAgent(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{Default: "default"}, words("first"))
	is := func(want task.Agent) {
		t.Helper()
		if a, ok := b.Agent(""); !ok || a.Name != want {
			t.Errorf("the default agent is %q, want %q", a.Name, want)
		}
	}
	first := b.Agents()[0].Name
	is(first)
	if _, ok := b.Agent("default"); ok {
		t.Error("there is an agent that was not registered")
	}
	if err := b.Register(engine.Agent{Name: "default", Card: &a2a.AgentCard{}, Executor: words("second")}); err != nil {
		t.Fatal(err)
	}
	is("default")
	if err := b.Unregister("default"); err != nil {
		t.Fatal(err)
	}
	is(first)
}
