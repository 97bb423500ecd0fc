package hub

import (
	"context"
	"iter"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/store/memstore"
)

// silent is an executor that sends no event.
type silent struct{}

func (silent) Execute(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}

func (silent) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}

// TestRegisteredIsListed registers an agent between the opening of the directory and its first round:
// the agent is listed at once.
func TestRegisteredIsListed(t *testing.T) {
	t.Parallel()
	h := mounted(t, Parts{Store: new(memstore.Store), Directory: &Listing{Reader: new(CardReader)}}, Settings{})
	if err := h.OpenDirectory(t.Context()); err != nil {
		t.Fatal(err)
	}
	card := &a2a.AgentCard{Name: "latecomer", Description: "Came during lunch.", Version: "1"}
	if err := h.Register(engine.Agent{Name: "latecomer", Card: card, Executor: silent{}}); err != nil {
		t.Fatal(err)
	}
	if found := h.Directory().Search("lunch", 1); len(found) != 1 {
		t.Errorf("Search = %v, want the new agent", found)
	}
}
