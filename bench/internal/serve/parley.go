package serve

import (
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/store/sqlitestore"
	"github.com/parley-a2a/parley/task"
)

// OwnerHeader names the owner of a call to a Parley with Options.Owners.
const OwnerHeader = "X-Owner"

// AgentName is the name of the agent.
const AgentName task.Agent = "bench"

// forever is longer than any task of a bench is kept.
const forever = 100 * 365 * 24 * time.Hour

func (o *Options) onSQLite(g *gate) (server, func() error, error) {
	db, err := sqlitestore.Open(o.File, sqlitestore.Options{})
	if err != nil {
		return nil, nil, err
	}
	return o.hub(g, db.Tasks()), db.Close, nil
}

// hub returns a hub with the given store; nil is the memory store.
func (o *Options) hub(g *gate, store task.Store) *parley.Hub {
	h := &parley.Hub{
		Store: store,
		Limits: parley.Limits{
			StreamsPerCaller: 1_000_000,
			Retention:        forever,
			IdleRetention:    forever,
			MaxRuns:          o.MaxRuns,
			DrainTimeout:     time.Second,
		},
	}
	if o.Owners {
		h.Auth = auth.Func(byHeader)
	}
	// Like the built-in echo, the agent declares what is true of it.
	x := agent.With(executor{g}, agent.Traits{Idempotent: true, NoMessage: true})
	if o.Remote != "" {
		x = &remote.Agent{URL: o.Remote}
	}
	h.Handle(&a2a.AgentCard{
		Name: string(AgentName), Description: "Answers a load generator.", Version: "1",
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []a2a.AgentSkill{{ID: "bench", Name: "bench", Description: "Answers.", Tags: []string{"bench"}}},
	}, x)
	return h
}

func byHeader(_ context.Context, r *auth.Request) (*auth.Principal, error) {
	if v := r.Header(OwnerHeader); len(v) > 0 {
		return &auth.Principal{ID: v[0]}, nil
	}
	return nil, auth.ErrUnauthenticated
}
