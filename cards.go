package parley

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/task"
)

// Cards configures the agent cards of a hub.
type Cards struct {
	// TrustForwarded takes the scheme and host of cards from X-Forwarded-Proto and
	// X-Forwarded-Host. Set it only behind a proxy that sets these headers.
	TrustForwarded bool
	// GRPCAddr is the address of gRPC to name in cards: "host:port" of a listener of its own, or
	// the URL of the hub if grpcbind.Binding.Beside serves both. If empty, cards name none.
	GRPCAddr string
	// Extended configures the extended cards. If zero, the hub serves none.
	Extended ExtendedCards
}

// ExtendedCards configures the extended cards of the agents and the callers that may read them
// (specification §3.1.11). With the zero value there are none, and cards do not declare them.
type ExtendedCards struct {
	// Token gives access to every caller that sends it as a bearer token, even if the hub
	// requires other credentials or none. It gives access to nothing else. It should be long
	// and random. If empty, no token gives access.
	Token string
	// Authenticated gives access to every caller that Hub.Auth identifies, except the anonymous
	// one.
	Authenticated bool
	// Cards holds the additions of the extended cards to the public ones, by the agent's name
	// (see task.AgentNamed): texts, skills and the like. A skill with the id of a public one replaces
	// it. The extended card of an agent without an entry equals its public card.
	Cards map[task.Agent]*a2a.AgentCard
}

// register registers an agent with the engine; the caller holds h.mu.
func (h *Hub) register(core *hub.Hub, a engine.Agent) error {
	a.More = h.Cards.Extended.Cards[a.Name]
	return core.Register(a)
}
