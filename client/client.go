package client

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent/card"
	"github.com/parley-a2a/parley/client/transport"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// Defaults of [Options].
const (
	DefaultTimeout = peer.DefaultTimeout
	DefaultMaxBody = peer.DefaultMaxBody
)

// maxCard bounds an agent card, in bytes.
const maxCard = 1 << 20

// Credentials are what a caller shows to an agent: API keys, bearer tokens, any header,
// OAuth 2.0 client credentials, a certificate. They are never printed.
type Credentials = transport.Credentials

// ClientCredentials are those of OAuth 2.0.
type ClientCredentials = transport.ClientCredentials

// TLS are the files of a certificate and of whom to trust.
type TLS = transport.TLS

// Transport connects to an interface of a further binding; package caller below grpcbind
// has the one of gRPC. It reports an agent that it cannot connect to as ErrUnreachable.
type Transport = transport.Factory

// Options say how to call. The zero value calls without credentials, over JSON-RPC
// or HTTP+JSON in the order of the card.
type Options struct {
	// HTTP sends the requests. Its Timeout also ends streams, so it is best left
	// zero; its CheckRedirect is replaced. If nil, a client with a connect timeout of
	// ten seconds and no other is used.
	HTTP *http.Client
	// Key is the caller's credential: a bearer token, sent as an API key as well if
	// the card declares an API key in a header. It counts if Credentials.Key is empty.
	Key string
	// Credentials are all that can be shown to an agent. They go to the host that Dial
	// was given alone, unless they say otherwise; with New, to where the card says.
	Credentials Credentials
	// Header is added to every request, over gRPC as metadata. On other hosts than
	// Dial's it is left out.
	Header http.Header
	// Bindings are the bindings to prefer, best first. Others of the card follow in
	// the card's order. A binding that is neither built in nor among Transports is
	// ErrNoTransport.
	Bindings []a2a.TransportProtocol
	// Transports adds bindings, such as gRPC.
	Transports map[a2a.TransportProtocol]Transport
	// Pin calls the URL that Dial was given instead of what the card names, where that
	// is on another host. Cards behind proxies and in containers name hosts that cannot
	// be reached from elsewhere.
	Pin bool
	// Dialect forces the dialect of JSON-RPC: "v1.0", "v0.3", "promptkit" or "rockbot". If
	// empty, the card says it, and the agent's answers correct the card.
	Dialect string
	// Timeout bounds the calls that an agent answers at once: the card, Get, List and
	// Cancel. Zero means DefaultTimeout, negative means never.
	Timeout time.Duration
	// Idle ends a stream that says nothing, not even a comment, for so long, as a Cut.
	// Zero means never.
	Idle time.Duration
	// MaxBody bounds an answer, in bytes. Zero means DefaultMaxBody. One event of a
	// stream is bounded at 10 MiB.
	MaxBody int64
	// Retries is how often a call is repeated that surely was not accepted, or is
	// idempotent. Zero means none.
	Retries int
	// Idempotent sends the id of each message as its Idempotency-Key. A hub that heeds
	// it takes no message twice, so that sends are retried like other calls.
	Idempotent bool
	// Logger receives what an operator should know. If nil, nothing is logged.
	Logger *slog.Logger
}

// Client calls one agent.
type Client struct {
	peer *peer.Peer
	raw  json.RawMessage
}

// Dial fetches the card of the agent at rawURL and returns a client for it. rawURL
// is the base URL below which the card is well known (specification §8.2), the
// card's own URL if it ends in ".json", or the URL of an interface that the card at
// the root of its host lists.
func Dial(ctx context.Context, rawURL string, o Options) (*Client, error) {
	p, err := peer.Dial(ctx, rawURL, o.peer())
	if err != nil {
		return nil, err
	}
	return &Client{peer: p, raw: p.Card().Raw}, nil
}

// Fetch returns the card of the agent at rawURL, which it reads as Dial does, as the
// SDK understands it and as it was received. The card need not list an interface
// that a Client can use.
func Fetch(ctx context.Context, rawURL string, o Options) (*a2a.AgentCard, json.RawMessage, error) {
	c, err := peer.Fetch(ctx, rawURL, o.peer())
	if err != nil {
		return nil, nil, err
	}
	return c.A2A, c.Raw, nil
}

// New returns a client for the agent that card describes. It returns ErrNoInterface
// if the card lists no interface that the client can use. It does not connect.
func New(agent *a2a.AgentCard, o Options) (*Client, error) {
	p, err := peer.New(&card.Card{A2A: agent}, o.peer())
	if err != nil {
		return nil, err
	}
	return &Client{peer: p}, nil
}

// Card returns the agent's card. The caller must not change it.
func (c *Client) Card() *a2a.AgentCard { return c.peer.Card().A2A }

// RawCard returns the card as it was received, or nil if the client was made by New.
func (c *Client) RawCard() json.RawMessage { return c.raw }

// Interface returns the interface that the next call tries first.
func (c *Client) Interface() a2a.AgentInterface { return c.peer.Interface() }

// Close lets go of the client's connections. Calls under way may fail.
func (c *Client) Close() error { return c.peer.Close() }

// Loopback reports whether hostport, with or without a port, names this machine.
func Loopback(hostport string) bool { return httpcall.Loopback(hostport) }

// peer returns the options of a caller who watches: no call has a deadline that its
// context does not have, and nothing is done that was not asked for.
func (o *Options) peer() *peer.Options {
	const never = -1
	p := &peer.Options{
		FollowCard: !o.Pin, Dialect: o.Dialect, HTTP: o.HTTP, Credentials: o.Credentials, Header: o.Header,
		Bindings: o.Bindings, Transports: o.Transports, Timeout: o.Timeout, Idle: o.Idle, MaxBody: o.MaxBody,
		MaxCard: maxCard, Retries: o.Retries, Idempotent: o.Idempotent, Logger: o.Logger,
		Deadline: never, BreakAfter: never, Detach: true,
	}
	if p.Credentials.Key == "" {
		p.Credentials.Key = o.Key
	}
	if p.Idle == 0 {
		p.Idle = never
	}
	if p.Retries == 0 {
		p.Retries = never
	}
	return p
}
