package hub

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// TestRegisteredIsListed registers an agent between the opening of the directory and its first round:
// the agent is listed at once.
func TestRegisteredIsListed(t *testing.T) {
	t.Parallel()
	h := mounted(t, Parts{Store: new(memstore.Store), Directory: &Listing{Reader: new(CardReader)}}, Settings{})
	if err := h.OpenDirectory(t.Context()); err != nil {
		t.Fatal(err)
	}
	card := &a2a.AgentCard{Name: "latecomer", Description: "Came during lunch.", Version: "1"}
	if err := h.Register(engine.Agent{Name: "latecomer", Card: card, Executor: builtin.Agents()[0].Executor}); err != nil {
		t.Fatal(err)
	}
	if found := h.Directory().Search("lunch", 1); len(found) != 1 {
		t.Errorf("Search = %v, want the new agent", found)
	}
}
