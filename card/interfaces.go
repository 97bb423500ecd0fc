package card

import (
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Place says where a hub serves an agent.
type Place struct {
	// Base is the hub's address, such as "https://hub.example". A trailing slash
	// does not matter.
	Base string
	// Agent is the agent's name in the hub. If empty, the hub's default agent is
	// meant, which needs no name.
	Agent string
	// GRPC is the "host:port" of the gRPC listener, or empty if there is none.
	GRPC string
}

// Interfaces returns the ways to reach the agent in the hub's order of preference:
// JSON-RPC, HTTP+JSON, gRPC. The agent is named either by the URL or by the tenant
// of an interface, never by both, because callers append the tenant to the URL.
func Interfaces(p Place) []*a2a.AgentInterface {
	base, suffix := strings.TrimRight(p.Base, "/"), ""
	if p.Agent != "" {
		suffix = "/" + url.PathEscape(p.Agent)
	}
	list := []*a2a.AgentInterface{
		a2a.NewAgentInterface(base+"/a2a"+suffix, a2a.TransportProtocolJSONRPC),
		a2a.NewAgentInterface(base+"/v1/a2a"+suffix, a2a.TransportProtocolHTTPJSON),
	}
	if p.GRPC != "" {
		g := a2a.NewAgentInterface(p.GRPC, a2a.TransportProtocolGRPC)
		g.Tenant = p.Agent
		list = append(list, g)
	}
	return list
}
