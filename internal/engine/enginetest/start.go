package enginetest

import (
	"context"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/task"
)

// Agent returns an agent whose card has its name, and one skill of that name.
func Agent(name task.Agent, x a2asrv.AgentExecutor) engine.Agent {
	card := &a2a.AgentCard{Name: string(name), Skills: []a2a.AgentSkill{{ID: string(name)}}}
	return engine.Agent{Name: name, Card: card, Executor: x}
}

// Start runs an engine until stop is called, at the latest at the end of the test, and returns once
// it has recovered its tasks. The configuration needs a store. The first agent is the default one.
func Start(tb testing.TB, c engine.Config, agents ...engine.Agent) (e *engine.Engine, stop func()) {
	tb.Helper()
	e = engine.New(c)
	for _, a := range agents {
		if err := e.Register(a); err != nil {
			tb.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := e.Run(ctx); err != nil {
			tb.Errorf("Run: %v", err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	tb.Cleanup(stop)
	<-e.Recovered()
	return e, stop
}
