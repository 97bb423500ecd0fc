package server

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/client/transport"
	"github.com/parley-a2a/parley/grpcbind/caller"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/agents/model"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/task"
)

// backends create the executors of remote agents, by the backend names of endpoints.
var backends = map[string]func(*config.Agent) *remote.Agent{
	config.BackendA2A: (*config.Agent).Remote,
}

// overGRPC allows calls over gRPC. Only remote agents that the operator has configured are
// called over it. All others are called over HTTP, through the guard.
var overGRPC = map[a2a.TransportProtocol]transport.Factory{a2a.TransportProtocolGRPC: caller.Dial}

// configured returns the agents of the configuration.
func (h *Hub) configured() ([]engine.Agent, error) {
	var all []engine.Agent
	for i := range h.cfg.Agents {
		a := &h.cfg.Agents[i]
		e := engine.Agent{Name: task.Agent(a.Name), Card: a.Card(), More: a.More()}
		switch {
		case a.Remotely():
			e.Executor, e.ListedSkills = h.core.Adopt(e.Name, h.withIdentity(a, backends[a.Backend()](a))), true
			e.AdvisoryModes = !a.StrictModes
		case a.Queue != "":
			s := a.Spec()
			x, err := h.core.QueueExecutor(&s)
			if err != nil {
				return nil, configf("agents: %s: %w; take away bus: off", a.Name, err)
			}
			e.Executor, e.ListedSkills = x, true
		case a.RockBot != "":
			s := a.Spec()
			e.Executor, e.ListedSkills = h.rockBotAgent(&s), true
			if len(a.Skills) == 0 {
				e.Card.Skills = nil // it announces its skills
			}
		case a.Thinks():
			x, err := h.thinker(&a.Model)
			if err != nil {
				return nil, err
			}
			e.Executor, e.Card.Capabilities.Extensions = x, model.Extensions()
		case a.Bound():
			for _, own := range builtin.Agents() {
				if own.Name == e.Name {
					e.Card, e.Executor = a.Over(own.Card), own.Executor
				}
			}
		default:
			e.Executor = h.program(a)
			if by := a.Executors(h.program); by != nil {
				e.Executor = by
			}
		}
		h.guard(a, &e)
		all = append(all, e)
	}
	return all, nil
}

// elsewhere reports whether the configuration has a remote agent under the name.
func (h *Hub) elsewhere(name task.Agent) bool {
	for i := range h.cfg.Agents {
		if a := &h.cfg.Agents[i]; task.Agent(a.Name) == name {
			return a.Elsewhere()
		}
	}
	return false
}

// configuredAgents are the remote agents of the configuration, as a source of the directory.
// The directory reads their cards and probes them like other remote agents.
type configuredAgents struct{ cfg *config.Config }

// Name implements directory.Source.
func (c configuredAgents) Name() string { return source(c.cfg) }

// Load implements directory.Source.
func (c configuredAgents) Load(context.Context) directory.Update {
	var u directory.Update
	for i := range c.cfg.Agents {
		if a := &c.cfg.Agents[i]; a.Elsewhere() {
			u.Specs = append(u.Specs, a.Spec())
		}
	}
	return u
}

// Follow implements directory.Source. The configuration does not change.
func (configuredAgents) Follow(ctx context.Context, _ func(directory.Update)) error {
	<-ctx.Done()
	return nil
}
