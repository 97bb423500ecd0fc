package card

import (
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Endpoint describes where a hub serves an agent.
type Endpoint struct {
	// Base is the hub's base URL, such as "https://hub.example". A trailing slash is ignored.
	Base string
	// Agent is the agent's name in the hub. Empty means the hub's default agent, which needs no
	// name.
	Agent string
	// GRPC is the address of gRPC, "host:port" or a URL, or empty if the hub has none.
	GRPC string
	// Default is set if Agent is the hub's default agent, which is also served without a name.
	Default bool
}

// Interfaces returns the ways to reach the agent in the hub's order of preference: JSON-RPC,
// HTTP+JSON, gRPC. Either the URL or the tenant of an interface names the agent, never both,
// because callers append the tenant to the URL.
func Interfaces(p Endpoint) []*a2a.AgentInterface {
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

// Prefer returns the interfaces whose binding is in order, sorted by that order. It returns all
// of them if order is empty.
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

// LegacyInterfaces is Interfaces for readers of v0.3. HTTP+JSON has other paths in v0.3,
// because callers append /v1 to the URL. Over gRPC, v0.3 has no name for an agent, so only the
// default agent has that interface.
func LegacyInterfaces(p Endpoint) []*a2a.AgentInterface {
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

func (p *Endpoint) base() string { return strings.TrimRight(p.Base, "/") }

// suffix returns the part of a path that names the agent.
func (p *Endpoint) suffix() string {
	if p.Agent == "" {
		return ""
	}
	return "/" + url.PathEscape(p.Agent)
}
