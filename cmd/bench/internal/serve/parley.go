package serve

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// OwnerHeader names the owner of a call to a Parley with Options.Owners.
const OwnerHeader = "X-Owner"

// AgentName is the name of the agent.
const AgentName task.Agent = "bench"

// forever is the retention time of tasks, longer than any bench.
const forever = 100 * 365 * 24 * time.Hour

func (o *Options) onSQLite(g *gate) (server, func() error, error) {
	db, err := sqlitestore.Open(o.File, sqlitestore.Options{})
	if err != nil {
		return nil, nil, err
	}
	if o.Bus == "" {
		return o.hub(db.Tasks(), o.agent(g)), db.Close, nil
	}
	x, stop, err := o.atQueue(db.Tasks())
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return o.hub(db.Tasks(), x), func() error { return errors.Join(stop(), db.Close()) }, nil
}

// agent returns the agent that performs the tasks.
func (o *Options) agent(g *gate) a2asrv.AgentExecutor {
	if o.Remote != "" {
		return &remote.Agent{URL: o.Remote}
	}
	// Like the built-in echo, the agent declares its actual traits.
	return agent.With(executor{g}, agent.Traits{AfterCrash: agent.Repeat, Pure: !o.Effects, NoMessage: true})
}

// hub returns a hub with the given store; nil is the memory store.
func (o *Options) hub(store task.Store, x a2asrv.AgentExecutor) *parley.Hub {
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
