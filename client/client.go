package client

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// maxCard bounds an agent card, in bytes.
const maxCard = 1 << 20

// Credentials authenticate the caller to an agent: API keys, bearer tokens, any header, OAuth
// 2.0 client credentials, a certificate. They are never printed.
type Credentials = transport.Credentials

// ClientCredentials are the client credentials of OAuth 2.0.
type ClientCredentials = transport.ClientCredentials

// TLS names the files of a client certificate and of trusted authorities.
type TLS = transport.TLS

// Transport connects to an interface of a further binding; grpcbind.Transport is the one for
// gRPC. If it cannot connect to an agent, its error is ErrUnreachable.
type Transport = transport.Factory

// Options configure a Client. The zero Options call without credentials, over JSON-RPC or
// HTTP+JSON in the order of the card.
type Options struct {
	// HTTP sends the requests. Its Timeout also ends streams, so it should be zero; its
	// CheckRedirect is replaced. If nil, a client with a connect timeout of ten seconds and no
	// other is used.
	HTTP *http.Client
	// Key is the caller's credential: a bearer token, sent as an API key as well if the card
	// declares an API key in a header. It is used if Credentials.Key is empty.
	Key string
	// Credentials are all credentials of the caller. By default they are sent only to the host
	// that was passed to Dial; with New, to the hosts of the card.
	Credentials Credentials
	// Header is added to every request, over gRPC as metadata. It is not sent to other hosts
	// than Dial's.
	Header http.Header
	// Bindings are the preferred bindings, best first. Others of the card follow in the card's
	// order. A binding that is neither built in nor among Transports is ErrNoTransport.
	Bindings []a2a.TransportProtocol
	// Transports adds bindings, such as gRPC.
	Transports map[a2a.TransportProtocol]Transport
	// Pin calls the URL that was passed to Dial instead of addresses of the card on another
	// host. Cards behind proxies and in containers name hosts that cannot be reached from
	// elsewhere.
	Pin bool
	// Dialect forces the dialect of JSON-RPC: "v1.0" or "v0.3", and in programs that import the
	// package parley one of those that it adds. If empty, it follows from the card and from the
	// agent's answers.
	Dialect string
	// Timeout bounds the calls that an agent answers at once: the card, Get, List and Cancel.
	// Zero means 30 s, negative means no limit.
	Timeout time.Duration
	// Idle ends a stream as a Cut after that long a silence, without even a comment. Zero means
	// never.
	Idle time.Duration
	// MaxBody bounds an answer, in bytes. Zero means 64 MiB. One event of a stream is
	// limited to 10 MiB.
	MaxBody int64
	// Retries is how often a call is repeated that was certainly not accepted, or is
	// idempotent. Zero means none.
	Retries int
	// Idempotent sends the id of each message as its Idempotency-Key. A hub that supports it
	// accepts no message twice, so that sends are retried like other calls.
	Idempotent bool
	// Logger receives records for the operator. If nil, nothing is logged.
	Logger *slog.Logger
}

// Client calls one agent. It is safe for concurrent use.
type Client struct {
	peer *peer.Peer
	raw  json.RawMessage
}

// Dial fetches the card of the agent at rawURL and returns a client for it. rawURL is the base
// URL of the well-known card (specification §8.2), the card's own URL if it ends in ".json", or
// the URL of an interface that the card at the root of its host lists.
func Dial(ctx context.Context, rawURL string, o Options) (*Client, error) {
	p, err := peer.Dial(ctx, rawURL, o.peer())
	if err != nil {
		return nil, err
	}
	return &Client{peer: p, raw: p.Card().Raw}, nil
}

// Fetch returns the card of the agent at rawURL, which it interprets like Dial, in the SDK's
// type and in its original form. The card need not list an interface that a Client can use.
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

// RawCard returns the card in its original form, or nil if the client was created by New.
func (c *Client) RawCard() json.RawMessage { return c.raw }

// Interface returns the interface that the next call tries first.
func (c *Client) Interface() a2a.AgentInterface { return c.peer.Interface() }

// Close closes the client's connections. Calls in progress may fail.
func (c *Client) Close() error { return c.peer.Close() }

// Loopback reports whether hostport, with or without a port, names this machine.
func Loopback(hostport string) bool { return httpcall.Loopback(hostport) }

// peer returns the options of package peer: calls have no deadlines beyond their contexts, and
// aborts do not cancel remote tasks.
func (o *Options) peer() *peer.Options {
	const never = -1
	p := &peer.Options{
		FollowCard: !o.Pin, Dialect: o.Dialect, HTTP: o.HTTP, Credentials: o.Credentials, Header: o.Header,
		Bindings: o.Bindings, Transports: o.Transports, Timeout: o.Timeout, Idle: o.Idle, MaxBody: o.MaxBody,
		MaxCard: maxCard, Retries: o.Retries, Idempotent: o.Idempotent, Logger: o.Logger,
		Deadline: never, BreakAfter: never, Detach: true,
	}
	p.Credentials.Key = cmp.Or(p.Credentials.Key, o.Key)
	p.Idle, p.Retries = cmp.Or(p.Idle, never), cmp.Or(p.Retries, never)
	return p
}
