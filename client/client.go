package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
)

// Defaults of [Options].
const (
	DefaultTimeout = 30 * time.Second
	DefaultMaxBody = 64 << 20
)

// Options say how to call. The zero value calls without credentials, over JSON-RPC
// or HTTP+JSON in the order of the card.
type Options struct {
	// HTTP sends the requests. Its Timeout also ends streams, so it is best left
	// zero; its CheckRedirect is replaced. If nil, a client with a connect timeout of
	// ten seconds and no other is used.
	HTTP *http.Client
	// Key is the caller's credential: a bearer token, sent as an API key as well if
	// the card declares an API key in a header. It goes to where the card is and to
	// the interfaces that the card names, be they on other hosts. Empty sends none.
	Key string
	// Header is added to every request, over gRPC as metadata.
	Header http.Header
	// Bindings are the bindings to prefer, best first. Others of the card follow in
	// the card's order. A binding that is neither built in nor among Transports is
	// ErrNoTransport.
	Bindings []a2a.TransportProtocol
	// Transports adds bindings, such as gRPC, or replaces the built-in ones. A factory
	// reports an agent that it cannot connect to as ErrUnreachable.
	Transports map[a2a.TransportProtocol]a2aclient.TransportFactory
	// Timeout bounds the calls that an agent answers at once: the card, Get, List and
	// Cancel. Zero means DefaultTimeout, negative means never.
	Timeout time.Duration
	// MaxBody bounds an answer, in bytes. Zero means DefaultMaxBody. One event of a
	// stream is bounded at 10 MiB.
	MaxBody int64
}

// Client calls one agent.
type Client struct {
	card *a2a.AgentCard
	raw  json.RawMessage
	opts Options
	http *http.Client

	mu        sync.Mutex // guards the fields below; never held during a call
	endpoints []*endpoint
	current   int // index of the endpoint that is tried first
}

// endpoint is one usable interface of the card.
type endpoint struct {
	iface a2a.AgentInterface

	mu  sync.Mutex // held while sdk is being made
	sdk *a2aclient.Client
}

// Dial fetches the card of the agent at rawURL and returns a client for it. rawURL
// is the base URL below which the card is well known (specification §8.2), the
// card's own URL if it ends in ".json", or the URL of an interface that the card at
// the root of its host lists.
func Dial(ctx context.Context, rawURL string, o Options) (*Client, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	h := o.httpClient()
	f := fetcher{client: h, opts: &o}
	card, raw, from, err := f.find(ctx, rawURL)
	if err == nil {
		c := &Client{card: card, raw: raw, opts: o, http: h}
		if err = c.choose(from); err == nil {
			return c, nil
		}
	}
	o.done(h)
	return nil, named(err, "card of "+rawURL)
}

// Fetch returns the card of the agent at rawURL, which it reads as Dial does, as the
// SDK understands it and as it was received. The card need not list an interface
// that a Client can use.
func Fetch(ctx context.Context, rawURL string, o Options) (*a2a.AgentCard, json.RawMessage, error) {
	h := o.httpClient()
	defer o.done(h)
	f := fetcher{client: h, opts: &o}
	card, raw, _, err := f.find(ctx, rawURL)
	return card, raw, named(err, "card of "+rawURL)
}

// New returns a client for the agent that card describes. It returns ErrNoInterface
// if the card lists no interface that the client can use. It does not connect.
func New(card *a2a.AgentCard, o Options) (*Client, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c := &Client{card: card, opts: o, http: o.httpClient()}
	if err := c.choose(nil); err != nil {
		return nil, err
	}
	return c, nil
}

// choose takes the usable interfaces from the card, best first.
func (c *Client) choose(from *url.URL) error {
	for _, i := range c.card.SupportedInterfaces {
		if usable, ok := c.usable(i, from); ok {
			c.endpoints = append(c.endpoints, &endpoint{iface: usable})
		}
	}
	if len(c.endpoints) == 0 {
		return fmt.Errorf("%w: the card offers %s", ErrNoInterface, offered(c.card))
	}
	slices.SortStableFunc(c.endpoints, func(a, b *endpoint) int {
		return c.opts.rank(a.iface.ProtocolBinding) - c.opts.rank(b.iface.ProtocolBinding)
	})
	return nil
}

// Card returns the agent's card. The caller must not change it.
func (c *Client) Card() *a2a.AgentCard { return c.card }

// RawCard returns the card as it was received, or nil if the client was made by New.
func (c *Client) RawCard() json.RawMessage { return c.raw }

// Interface returns the interface that the next call tries first.
func (c *Client) Interface() a2a.AgentInterface {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endpoints[c.current].iface
}

// Close lets go of the client's connections. Calls under way may fail.
func (c *Client) Close() error {
	var errs []error
	for _, e := range c.endpoints {
		e.mu.Lock()
		if e.sdk != nil {
			errs = append(errs, e.sdk.Destroy())
		}
		e.sdk = nil
		e.mu.Unlock()
	}
	c.opts.done(c.http)
	return errors.Join(errs...)
}

// usable returns i made whole, and whether the client can call it. from is where
// the card came from, or nil.
func (c *Client) usable(i *a2a.AgentInterface, from *url.URL) (a2a.AgentInterface, bool) {
	if i == nil || !c.opts.speaks(i.ProtocolBinding) {
		return a2a.AgentInterface{}, false
	}
	got := *i
	if got.ProtocolVersion == "" {
		got.ProtocolVersion = a2a.Version
	}
	if major, _, _ := strings.Cut(string(got.ProtocolVersion), "."); major != "1" {
		return got, false
	}
	if got.ProtocolBinding == a2a.TransportProtocolGRPC {
		return got, got.URL != ""
	}
	u, err := url.Parse(got.URL)
	if err != nil {
		return got, false
	}
	if from != nil {
		u = from.ResolveReference(u)
	}
	got.URL = u.String()
	return got, (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && !downgrades(from, u)
}

// downgrades reports whether a call to u would be in the clear although from, where
// its URL was learnt, was not.
func downgrades(from, u *url.URL) bool {
	return from != nil && from.Scheme == "https" && u.Scheme == "http"
}

// connect returns the SDK's client of an endpoint.
func (c *Client) connect(ctx context.Context, e *endpoint) (*a2aclient.Client, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sdk != nil {
		return e.sdk, nil
	}
	card := *c.card
	card.SupportedInterfaces = []*a2a.AgentInterface{&e.iface}
	options := []a2aclient.FactoryOption{
		a2aclient.WithDefaultsDisabled(),
		a2aclient.WithJSONRPCTransport(c.http),
		a2aclient.WithRESTTransport(c.http),
		a2aclient.WithCallInterceptors(credentials(c.card, &c.opts)),
	}
	for binding, factory := range c.opts.Transports {
		options = append(options, a2aclient.WithTransport(binding, factory))
	}
	sdk, err := a2aclient.NewFromCard(ctx, &card, options...)
	if err != nil {
		return nil, err
	}
	e.sdk = sdk
	return sdk, nil
}

// order returns the endpoints in the order in which a call tries them.
func (c *Client) order() []*endpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(c.endpoints[c.current:len(c.endpoints):len(c.endpoints)], c.endpoints[:c.current]...)
}

// worked remembers that e could be reached.
func (c *Client) worked(e *endpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = slices.Index(c.endpoints, e)
}

// check refuses preferences that would be passed over.
func (o *Options) check() error {
	for _, b := range o.Bindings {
		if !o.speaks(b) {
			return fmt.Errorf("prefer %q: %w", b, ErrNoTransport)
		}
	}
	return nil
}

func (o *Options) speaks(b a2a.TransportProtocol) bool {
	if b == a2a.TransportProtocolJSONRPC || b == a2a.TransportProtocolHTTPJSON {
		return true
	}
	_, ok := o.Transports[b]
	return ok
}

// rank is the place of b among the preferred bindings.
func (o *Options) rank(b a2a.TransportProtocol) int {
	if i := slices.Index(o.Bindings, b); i >= 0 {
		return i
	}
	return len(o.Bindings)
}

func (o *Options) timeout() time.Duration {
	if o.Timeout == 0 {
		return DefaultTimeout
	}
	return o.Timeout
}

func (o *Options) maxBody() int64 {
	if o.MaxBody <= 0 {
		return DefaultMaxBody
	}
	return o.MaxBody
}

// httpClient returns the client that all HTTP requests use.
func (o *Options) httpClient() *http.Client {
	var base http.RoundTripper
	client := &http.Client{CheckRedirect: sameHost}
	if o.HTTP != nil {
		base, client.Jar, client.Timeout = o.HTTP.Transport, o.HTTP.Jar, o.HTTP.Timeout
		if base == nil {
			base = http.DefaultTransport
		}
	} else {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext
		base = t
	}
	client.Transport = &wire{base: base, maxBody: o.maxBody()}
	return client
}

// done closes the idle connections of a client that httpClient made.
func (o *Options) done(h *http.Client) {
	if o.HTTP == nil {
		h.Transport.(*wire).base.(*http.Transport).CloseIdleConnections()
	}
}

// offered lists the interfaces of a card for an error message.
func offered(card *a2a.AgentCard) string {
	if len(card.SupportedInterfaces) == 0 {
		return "no A2A 1.0 interface"
	}
	var names []string
	for _, i := range card.SupportedInterfaces {
		if i != nil {
			names = append(names, fmt.Sprintf("%s %s at %s", i.ProtocolBinding, i.ProtocolVersion, i.URL))
		}
	}
	return strings.Join(names, ", ")
}
