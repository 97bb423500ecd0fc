package remote

import (
	"context"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// Direct sets how an agent is called at Agent.URL when its card does not state it. The zero
// Direct has no binding, so that an agent without a card cannot be called.
type Direct struct {
	// Binding and Version are those of the interface at the URL.
	Binding a2a.TransportProtocol
	Version a2a.ProtocolVersion
	// Fixed calls only the URL, if it has a path, whatever other addresses the card lists. If
	// the card lists the URL, the binding and version of the card are used.
	Fixed bool
	// Blind never fetches a card.
	Blind bool
	// Streaming states that the agent streams although it has no card.
	Streaming bool
	// Jobs states that an agent without a card may be one that accepts only POST /tasks/send
	// below the URL. It is called there if there is no such operation at the URL.
	Jobs bool
}

const (
	// cardlessAge is how long a missing card is not fetched again.
	cardlessAge = time.Minute
	// cardWithin is how long fetching the card may take for an agent that can be called without
	// one.
	cardWithin = 10 * time.Second
	// cardTries is how often a card is fetched whose connection breaks.
	cardTries = 3
)

// card returns a substitute for a missing card.
func (d *Direct) card(u *url.URL, name string) *card.Card {
	at := []*a2a.AgentInterface{d.at(u.String())}
	if d.Jobs {
		at = append(at, &a2a.AgentInterface{URL: u.JoinPath("tasks", "send").String(), ProtocolBinding: card.TaskSend})
	}
	return &card.Card{A2A: &a2a.AgentCard{
		Name: name, SupportedInterfaces: at, Capabilities: a2a.AgentCapabilities{Streaming: d.Streaming},
	}}
}

func (d *Direct) at(rawURL string) *a2a.AgentInterface {
	return &a2a.AgentInterface{URL: rawURL, ProtocolBinding: d.Binding, ProtocolVersion: d.Version}
}

// stands reports whether the agent can be called although its card could not be fetched for the
// reason err. An unreachable agent cannot be called either, nor one that is starting or overloaded,
// and a URL that names a card is not an endpoint.
func (d *Direct) stands(ctx context.Context, u *url.URL, err error) bool {
	return d.Binding != "" && !cardURL(u) && ctx.Err() == nil && !errors.Is(err, httpcall.ErrUnreachable) && !busy(err) && !withoutIdentity(err)
}

// busy reports whether err is the answer of a host that may have a card later.
func busy(err error) bool {
	return errors.As(err, new(*transport.Error)) && peer.Passing(err)
}

// fetchWhole fetches the card, again if the connection breaks: an agent that ends or is killed in
// the middle is no agent without a card, and is often called elsewhere than at its URL.
func (a *Agent) fetchWhole(ctx context.Context, o *peer.Options) (*card.Card, error) {
	for try := 1; ; try++ {
		c, err := peer.Fetch(ctx, a.URL, o)
		cut := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
		if !cut || try == cardTries || !pause(ctx, retryGap(try)) {
			return c, err
		}
	}
}

// fetch returns the card of the agent, or a substitute if the configuration suffices for calls.
// It reports false for the substitute.
func (a *Agent) fetch(ctx context.Context, o *peer.Options) (*card.Card, bool, error) {
	u, err := httpcall.ParseURL(a.URL)
	if err != nil {
		return nil, false, err
	}
	if a.Direct.Blind && a.Direct.Binding != "" {
		return a.Direct.card(u, o.Name), false, nil
	}
	if a.Direct.Binding != "" {
		brief := *o
		brief.Timeout = cardWithin
		o = &brief
	}
	c, err := a.fetchWhole(ctx, o)
	switch {
	case err == nil && a.Direct.Fixed:
		a.fix(c, u)
		return c, true, nil
	case err == nil || !a.Direct.stands(ctx, u, err):
		return c, true, err
	}
	if known := a.known(u); known != nil {
		a.logger().Info("the agent's card cannot be read; using its last card", "agent", o.Name, "url", u.Redacted(), "error", err)
		return known, false, nil
	}
	a.logger().Info("the agent's card cannot be read; calls go to the configured URL", "agent", o.Name, "url", u.Redacted(), "error", err)
	return a.Direct.card(u, o.Name), false, nil
}

// known returns the last card of an agent that accepts only jobs, or nil.
func (a *Agent) known(u *url.URL) *card.Card {
	if a.Known == nil {
		return nil
	}
	c, err := card.Read(a.Known())
	if err != nil || c.Layout != card.Jobs {
		return nil
	}
	c.SetFrom(u.JoinPath(jobCard))
	return c
}

// jobCard is the path of the card of an agent that accepts only jobs.
const jobCard = "/.well-known/agent.json"

// fix removes from the card all interfaces except those at u. If there are none, u is called as
// Direct states, in the version that the card has for that binding. A card without any
// interface over HTTP stays unchanged.
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

// names reports whether an address of the card is u, or u followed by the target. Hosts are not
// compared, because agents behind proxies and in containers have several names.
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
