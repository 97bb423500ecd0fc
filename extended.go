package parley

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/task"
)

// ExtendedCards says who may see the extended cards of the agents, and what they say
// (specification §3.1.11). With the zero value there are none, and cards do not
// declare them.
type ExtendedCards struct {
	// Token opens them for everybody who has it, as a bearer token, also where the hub
	// asks for other credentials or for none. It opens nothing else. It should be long
	// and random. If empty, no token opens them.
	Token string
	// Authenticated opens them for every caller whom Hub.Auth knows and who is not
	// anonymous.
	Authenticated bool
	// Cards are what the extended cards say beyond the public ones, by the agent's
	// name (see AgentName): texts, skills and the like. A skill with the id of a
	// public one takes its place. An agent that is not here has an extended card that
	// says the same as the public one.
	Cards map[task.Agent]*a2a.AgentCard
}

// register tells the engine about an agent; the caller holds h.mu.
func (h *Hub) register(a engine.Agent) {
	a.More = h.Extended.Cards[a.Name]
	if err := h.core.Engine().Register(a); err != nil {
		panic("parley: " + err.Error()) // Handle should have found it
	}
}
