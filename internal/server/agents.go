package server

import (
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/agents/command"
	"github.com/parley-a2a/parley/internal/agents/model"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/outbound/caller"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/task"
)

// overGRPC allows calls over gRPC. Only remote agents that the operator has configured are
// called over it. All others are called over HTTP, through the guard.
var overGRPC = map[a2a.TransportProtocol]transport.Factory{a2a.TransportProtocolGRPC: caller.Dial}

// configured returns the agents of the configuration.
func (h *Hub) configured() ([]engine.Agent, error) {
	var all []engine.Agent
	for i := range h.cfg.Agents {
		a := &h.cfg.Agents[i]
		e := engine.Agent{Name: task.Agent(a.Name), Card: a.Card(), More: a.More(), Serial: a.Serial}
		if a.Elsewhere() {
			e.Rank = engine.RankConfigured
		}
		switch {
		case a.Remotely():
			e.Executor, e.ListedSkills = h.core.Adopt(e.Name, h.withIdentity(a, a.Remote())), true
			e.AdvisoryModes = !a.StrictModes
		case a.Queue != "":
			s := a.Spec()
			x, err := h.core.QueueExecutor(&s)
			if err != nil {
				return nil, configf("agents: %s: %w; remove bus: off", a.Name, err)
			}
			e.Executor, e.ListedSkills = x, true
		case a.Exchange() != "":
			s := a.Spec()
			e.Executor, e.ListedSkills = h.exchange.Executor(&s), true
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
			one := h.program(a)
			programs := []*command.Agent{one}
			e.Executor = one
			if by := a.Executors(h.program); by != nil {
				e.Executor, programs = by, by.Agents
			}
			// The missing programs may be installed later, so the hub starts without them.
			for _, p := range programs {
				if err := p.Missing(); err != nil {
					h.logger.Warn("the tasks of an agent will fail", "agent", e.Name, "error", err)
				}
			}
		}
		h.guard(a, &e)
		all = append(all, e)
	}
	return all, nil
}

// elsewhere reports whether the configuration has a remote agent under the name.
func (h *Hub) elsewhere(name task.Agent) bool {
	a := h.cfg.Agent(name)
	return a != nil && a.Elsewhere()
}

// configuredAgents returns the remote agents of the configuration, as a source of the directory.
// The directory reads their cards and probes them like other remote agents.
func configuredAgents(c *config.Config) directory.Source {
	s := hub.FixedAgents{Source: source(c)}
	for i := range c.Agents {
		if a := &c.Agents[i]; a.Elsewhere() {
			s.Agents.Specs = append(s.Agents.Specs, a.Spec())
		}
	}
	return s
}

// remoteExecutor returns the executor for an agent of the directory, behind the gate if it is
// gated.
func (h *Hub) remoteExecutor(e *directory.Entry) (a2asrv.AgentExecutor, error) {
	x, err := h.listedExecutor(e)
	if err != nil {
		return nil, err
	}
	configured := h.elsewhere(e.Name())
	if e.Transport() == directory.HTTP {
		configured = h.core.Adopted(e.Name()) != nil
	}
	if configured && e.Spec.Model == nil {
		return h.guardRemote(e.Name(), x), nil
	}
	return h.guardKnown(&e.Spec, x), nil
}

func (h *Hub) listedExecutor(e *directory.Entry) (a2asrv.AgentExecutor, error) {
	switch at := e.Transport(); {
	case e.Spec.Model != nil:
		return h.specThinker(e.Spec.Model)
	case at == directory.Exchange && h.exchange == nil:
		return nil, fmt.Errorf("the hub is not connected to the exchange where the agent is %s", e.Spec.Exchange)
	case at == directory.Exchange:
		return h.exchange.Executor(&e.Spec), nil
	case at == directory.HTTP && h.core.Adopted(e.Name()) != nil:
		return h.core.Adopted(e.Name()), nil
	}
	return h.core.Executor(e)
}
