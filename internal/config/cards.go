package config

import (
	"net"
	"net/url"
	"slices"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/registry"
)

// bindings are the names of the bindings of cards.
var bindings = []string{"HTTP+JSON", "JSONRPC", "GRPC"}

// Interfaces returns the bindings that cards list, the preferred one first; nil means the hub's
// default order.
func (c *Config) Interfaces() []a2a.TransportProtocol {
	names := c.Cards.Interfaces
	for _, p := range registry.Added[Profile]() {
		if len(names) == 0 && ProfileName(p.Name) == c.Profile {
			names = p.Interfaces
		}
	}
	var order []a2a.TransportProtocol
	for _, name := range names {
		order = append(order, a2a.TransportProtocol(name))
	}
	return order
}

// Cards configures the signatures and the content of agent cards.
type Cards struct {
	// SigningKeys are files with private keys in PEM (ECDSA P-256, Ed25519, or RSA of 2048 bits
	// or more). Each of them signs the hub's cards, so that clients can verify the old key's
	// signature while they learn a new key.
	SigningKeys []string `yaml:"signing_keys" path:"yes"`
	// TrustedKeys are files with the public keys that sign the cards of remote agents: key sets
	// (JWKS), or PEM.
	TrustedKeys []string `yaml:"trusted_keys" path:"yes"`
	// TrustedKeySets are https addresses of key sets that such cards may reference (jku).
	TrustedKeySets []string `yaml:"trusted_key_sets"`
	// RequireSignatures refuses cards of remote agents without a trusted signature.
	RequireSignatures bool `yaml:"require_signatures"`
	// AllSkills lists the skills of all agents in the hub's card. Nil means yes if the dialect of a
	// caller is of clients that expect them there.
	AllSkills *bool `yaml:"all_skills"`
	// Interfaces are the bindings that cards list, the preferred one first: JSONRPC, HTTP+JSON,
	// GRPC. A profile may have another default.
	Interfaces []string `yaml:"interfaces"`
	// GRPCURL is the gRPC URL in cards, such as https://grpc.hub.example. If empty, it is the
	// "host:port" of grpc_listen, which the official SDKs dial, or else the URL of the hub, unless
	// public_url is set.
	GRPCURL string `yaml:"grpc_url"`
	// Provider, DocumentationURL and IconURL are those of agents whose own card names none.
	Provider         CardProvider `yaml:"provider"`
	DocumentationURL string       `yaml:"documentation_url"`
	IconURL          string       `yaml:"icon_url"`
}

// CardProvider is who offers the agents: both keys, or none.
type CardProvider struct {
	Organization string `yaml:"organization"`
	URL          string `yaml:"url"`
}

// About returns the description of the hub for cards.
func (c *Cards) About() card.About {
	a := card.About{DocumentationURL: c.DocumentationURL, IconURL: c.IconURL}
	if c.Provider != (CardProvider{}) {
		a.Provider = &a2a.AgentProvider{Org: c.Provider.Organization, URL: c.Provider.URL}
	}
	return a
}

// AllSkills reports whether the card of the hub lists the skills of all agents.
func (c *Config) AllSkills() bool {
	if c.Cards.AllSkills != nil {
		return *c.Cards.AllSkills
	}
	for _, name := range c.Auth.Dialects() {
		if shape, ok := dialect.ParseShape(name); ok && dialect.Of(shape).Serving.OwnCard {
			return true
		}
	}
	return false
}

// Verify reports whether the hub verifies signatures of cards.
func (c *Cards) Verify() bool {
	return len(c.TrustedKeys)+len(c.TrustedKeySets) > 0
}

func checkCards(d *yamlfile.Decoder, c *Cards) {
	for i, address := range c.TrustedKeySets {
		if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "https" {
			d.Problem(nil, "cards.trusted_key_sets["+strconv.Itoa(i)+"]", "is not an address that begins with https://")
		}
	}
	for i, name := range c.Interfaces {
		key := "cards.interfaces[" + strconv.Itoa(i) + "]"
		switch {
		case !slices.Contains(bindings, name):
			d.Problem(nil, key, "unknown transport %q; must be HTTP+JSON, JSONRPC or GRPC", yamlfile.Clip(name))
		case slices.Contains(c.Interfaces[:i], name):
			d.Problem(nil, key, "%s appears twice", name)
		}
	}
	if slices.Equal(c.Interfaces, bindings[2:]) {
		d.Problem(nil, "cards.interfaces", "cards also need HTTP+JSON or JSONRPC: not every agent can be reached over gRPC")
	}
	if !namesHost(c.GRPCURL) {
		d.Problem(nil, "cards.grpc_url", "must be host:port, or begin with http:// or https://")
	}
	checkURL(d, "cards.documentation_url", c.DocumentationURL)
	checkURL(d, "cards.icon_url", c.IconURL)
	checkURL(d, "cards.provider.url", c.Provider.URL)
	if (c.Provider.Organization == "") != (c.Provider.URL == "") {
		d.Problem(nil, "cards.provider", "needs organization and url: a card requires both")
	}
	if c.RequireSignatures && !c.Verify() {
		d.Problem(nil, "cards.require_signatures", "needs trusted_keys or trusted_key_sets: no signature could be trusted")
	}
}

// namesHost reports whether an address is empty, host:port, or an HTTP URL.
func namesHost(address string) bool {
	if address == "" {
		return true
	}
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Scheme == "http" || u.Scheme == "https"
	}
	host, port, err := net.SplitHostPort(address)
	return err == nil && host != "" && port != ""
}
