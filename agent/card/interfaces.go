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
	// Default says that Agent is the hub's default agent, which is reached without a
	// name as well.
	Default bool
}

// Interfaces returns the ways to reach the agent in the hub's order of preference:
// JSON-RPC, HTTP+JSON, gRPC. The agent is named either by the URL or by the tenant
// of an interface, never by both, because callers append the tenant to the URL.
func Interfaces(p Place) []*a2a.AgentInterface {
	base, suffix := p.base(), p.suffix()
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

// Prefer returns those of the interfaces whose binding is in order, in that order; all of
// them if order is empty.
func Prefer(all []*a2a.AgentInterface, order []a2a.TransportProtocol) []*a2a.AgentInterface {
	if len(order) == 0 {
		return all
	}
	var some []*a2a.AgentInterface
	for _, binding := range order {
		for _, i := range all {
			if i.ProtocolBinding == binding {
				some = append(some, i)
			}
		}
	}
	return some
}

// LegacyInterfaces is Interfaces for readers of v0.3, whose HTTP+JSON has paths of its
// own, below which callers put /v1. Over gRPC v0.3 has no name for an agent, so only the
// default one has that interface.
func LegacyInterfaces(p Place) []*a2a.AgentInterface {
	rpc, rest := p.base()+"/a2a"+p.suffix(), p.base()
	if p.Agent != "" {
		rest = rpc
	}
	list := []*a2a.AgentInterface{
		a2a.NewAgentInterface(rpc, a2a.TransportProtocolJSONRPC),
		a2a.NewAgentInterface(rest, a2a.TransportProtocolHTTPJSON),
	}
	if p.GRPC != "" && (p.Agent == "" || p.Default) {
		list = append(list, a2a.NewAgentInterface(p.GRPC, a2a.TransportProtocolGRPC))
	}
	for _, i := range list {
		i.ProtocolVersion = legacyVersion
	}
	return list
}

func (p *Place) base() string { return strings.TrimRight(p.Base, "/") }

// suffix is what names the agent in a path.
func (p *Place) suffix() string {
	if p.Agent == "" {
		return ""
	}
	return "/" + url.PathEscape(p.Agent)
}
