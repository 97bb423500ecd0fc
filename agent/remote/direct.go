package remote

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent/card"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// Direct says how an agent is called at Agent.URL when its card does not say it. The zero
// Direct has no binding: then an agent without a card cannot be called.
type Direct struct {
	// Binding and Version are those of the interface at the URL.
	Binding a2a.TransportProtocol
	Version a2a.ProtocolVersion
	// Fixed calls the URL alone, if it has a path, whatever other addresses the card lists.
	// The card still says how the URL is called, if it lists it.
	Fixed bool
	// Blind never fetches a card.
	Blind bool
	// Streaming says that the agent streams although it has no card.
	Streaming bool
}

const (
	// cardlessAge is how long a missing card is not asked for again.
	cardlessAge = time.Minute
	// cardWithin is how long the card may take of an agent that can be called without one.
	cardWithin = 10 * time.Second
)

// card returns the card of an agent that has none.
func (d *Direct) card(rawURL, name string) *card.Card {
	return &card.Card{A2A: &a2a.AgentCard{
		Name: name, SupportedInterfaces: []*a2a.AgentInterface{d.at(rawURL)},
		Capabilities: a2a.AgentCapabilities{Streaming: d.Streaming},
	}}
}

func (d *Direct) at(rawURL string) *a2a.AgentInterface {
	return &a2a.AgentInterface{URL: rawURL, ProtocolBinding: d.Binding, ProtocolVersion: d.Version}
}

// stands reports whether the agent can be called although its card could not be fetched
// for the reason err. An agent that cannot be connected to cannot be called either, and a
// URL that names a card is no address of calls.
func (d *Direct) stands(ctx context.Context, u *url.URL, err error) bool {
	return d.Binding != "" && !cardURL(u) && ctx.Err() == nil && !errors.Is(err, httpcall.ErrUnreachable) && !untold(err)
}

// fetch returns the card of the agent, or one in its place if the configuration says all
// that a call needs. It reports false for the latter.
func (a *Agent) fetch(ctx context.Context, o *peer.Options) (*card.Card, bool, error) {
	u, err := httpcall.ParseURL(a.URL)
	if err != nil {
		return nil, false, err
	}
	if a.Direct.Blind && a.Direct.Binding != "" {
		return a.Direct.card(u.String(), o.Name), false, nil
	}
	if a.Direct.Binding != "" {
		brief := *o
		brief.Timeout = cardWithin
		o = &brief
	}
	c, err := peer.Fetch(ctx, a.URL, o)
	switch {
	case err == nil && a.Direct.Fixed:
		a.fix(c, u)
		return c, true, nil
	case err == nil || !a.Direct.stands(ctx, u, err):
		return c, true, err
	}
	a.logger().Info("agent has no card that can be read; it is called where it is configured", "agent", o.Name, "url", u.Redacted(), "error", err)
	return a.Direct.card(u.String(), o.Name), false, nil
}

// fix leaves the card the interfaces at u alone. If there are none, u is called as Direct
// says, in the version that the card has for that binding. A card without any interface
// over HTTP stays as it is.
func (a *Agent) fix(c *card.Card, u *url.URL) {
	if pathOf(u) == "" || cardURL(u) || !slices.ContainsFunc(c.A2A.SupportedInterfaces, overHTTP) {
		return
	}
	own := a.Direct.at(u.String())
	var there []*a2a.AgentInterface
	for _, i := range c.A2A.SupportedInterfaces {
		switch {
		case !overHTTP(i):
			continue
		case a.names(i.URL, u):
			at := *i
			at.URL = u.String()
			there = append(there, &at)
		case i.ProtocolBinding == a.Direct.Binding:
			own.ProtocolVersion = i.ProtocolVersion
		}
	}
	if len(there) == 0 {
		there = append(there, own)
	}
	c.A2A.SupportedInterfaces = there
}

// names reports whether an address of the card is u, or u with the target behind it. Hosts
// are not compared: behind proxies and in containers agents have several names.
func (a *Agent) names(address string, u *url.URL) bool {
	at, err := url.Parse(address)
	if err != nil {
		return false
	}
	path := pathOf(at)
	return path == pathOf(u) || a.Target != "" && path == pathOf(u)+"/"+a.Target
}

func overHTTP(i *a2a.AgentInterface) bool {
	if i == nil {
		return false
	}
	switch i.ProtocolBinding {
	case a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON, card.TaskSend:
		return true
	}
	return false
}

func pathOf(u *url.URL) string { return strings.Trim(u.Path, "/") }

// cardURL reports whether u is the address of a card.
func cardURL(u *url.URL) bool { return strings.HasSuffix(u.Path, ".json") }
