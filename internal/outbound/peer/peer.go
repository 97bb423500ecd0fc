package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
)

// Peer is another agent, as its card describes it. It is safe for concurrent use.
type Peer struct {
	card *card.Card
	opts Options
	// label is the name for metrics: the configured one, because the name in the card may
	// change.
	label   string
	http    *http.Client
	release func()
	breaker *breaker
	auth    *authorizer
	home    *url.URL // the configured address, or that of the card; may be nil

	mu        sync.Mutex // guards the fields below; never held during a call
	endpoints []*endpoint
	current   int // index of the endpoint that is tried first
	// streamless is set once the peer had no route for a streamed message, and accepted it
	// otherwise, although its card declares streaming.
	streamless bool
}

// Dial fetches the card of the agent at rawURL with card.Fetch, and returns the peer.
// Options.URL is rawURL if it is not set.
func Dial(ctx context.Context, rawURL string, o *Options) (*Peer, error) {
	opts := o.copy()
	opts.URL = cmp.Or(opts.URL, rawURL)
	c, err := Fetch(ctx, rawURL, &opts)
	if err != nil {
		return nil, err
	}
	p, err := New(c, &opts)
	return p, named(err, "card of "+rawURL)
}

// Fetch returns the card of the agent at rawURL. An error reported by the server is a
// *transport.Error.
func Fetch(ctx context.Context, rawURL string, o *Options) (*card.Card, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	auth := authorizer{creds: &o.Credentials}
	shown, err := auth.show(ctx)
	if err != nil {
		return nil, err
	}
	c, err := card.Fetch(ctx, rawURL, &card.FetchOptions{
		Client: client, Header: join(o.Header, shown.header), MaxBytes: o.MaxCard, Timeout: cmp.Or(limit(o.Timeout, DefaultTimeout), -1), Target: o.Target,
	})
	var status *card.StatusError
	if errors.As(err, &status) {
		return nil, named(ErrorOf(status.Status, status.Body), "card of "+rawURL)
	}
	return c, err
}

// New returns the peer that a card describes. It returns ErrNoInterface if the card lists no
// interface that can be called. It does not connect.
func New(c *card.Card, o *Options) (*Peer, error) {
	opts := o.copy()
	if err := opts.check(); err != nil {
		return nil, err
	}
	label := opts.Name
	opts.Name = cmp.Or(opts.Name, c.A2A.Name)
	p := &Peer{card: c, opts: opts, label: label, breaker: opts.breaker(), home: c.From}
	if opts.URL != "" {
		home, err := httpcall.ParseURL(opts.URL)
		if err != nil {
			return nil, err
		}
		p.home = home
	}
	if err := p.choose(); err != nil {
		return nil, err
	}
	base, err := opts.client()
	if err != nil {
		return nil, err
	}
	p.http, p.release = httpcall.Client(base)
	tokens, err := newTokens(&p.opts, c.A2A, p.trusts, p.http)
	if err != nil {
		return nil, err
	}
	p.auth = &authorizer{creds: &p.opts.Credentials, card: c.A2A, tokens: tokens}
	return p, nil
}

// copy returns a copy of the options that the caller cannot change.
func (o *Options) copy() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

// client returns the HTTP client with the caller's certificate, or nil for the default.
func (o *Options) client() (*http.Client, error) {
	if o.Credentials.TLS == nil {
		return o.HTTP, nil
	}
	return clientWith(o.Credentials.TLS, o.HTTP)
}

// Card returns the peer's card. The caller must not change it.
func (p *Peer) Card() *card.Card { return p.card }

// Interface returns the interface that the next call tries first.
func (p *Peer) Interface() a2a.AgentInterface {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.endpoints[p.current].iface
}

// Close closes the peer's connections. Calls in progress may fail.
func (p *Peer) Close() error {
	var errs []error
	for _, e := range p.endpoints {
		errs = append(errs, e.close())
	}
	p.release()
	return errors.Join(errs...)
}

// choose selects the usable interfaces of the card, best first. Interfaces outside of the
// protocol are used only if there are no others, or with Options.Jobs.
func (p *Peer) choose() error {
	for _, i := range p.card.A2A.SupportedInterfaces {
		e, ok := p.usable(i)
		if ok && !slices.ContainsFunc(p.endpoints, e.same) {
			p.endpoints = append(p.endpoints, e)
		}
	}
	proper := slices.DeleteFunc(slices.Clone(p.endpoints), (*endpoint).takesJobs)
	if len(proper) > 0 && !p.opts.Jobs {
		p.endpoints = proper
	}
	if len(p.endpoints) == 0 {
		return fmt.Errorf("%w: the card offers %s", ErrNoInterface, offered(p.card.A2A))
	}
	slices.SortStableFunc(p.endpoints, func(a, b *endpoint) int {
		return p.opts.rank(a.iface.ProtocolBinding) - p.opts.rank(b.iface.ProtocolBinding)
	})
	return nil
}

// usable returns the endpoint of an interface, if it can be called.
func (p *Peer) usable(i *a2a.AgentInterface) (*endpoint, bool) {
	if i == nil || i.ProtocolBinding != card.TaskSend && !p.opts.speaks(i.ProtocolBinding) {
		return nil, false
	}
	e := &endpoint{peer: p, iface: *i}
	e.iface.ProtocolVersion = cmp.Or(i.ProtocolVersion, a2a.Version)
	shape, ok := e.native()
	if !ok {
		return nil, false
	}
	e.shape = shape
	if _, http := httpBindings[i.ProtocolBinding]; !http {
		return e, i.URL != "" && p.pinsHost(i.URL)
	}
	u, err := url.Parse(i.URL)
	if err != nil {
		return nil, false
	}
	if from := p.card.From; from != nil {
		u = from.ResolveReference(u)
	}
	if u = p.pin(u, i.ProtocolBinding); u == nil {
		return nil, false
	}
	e.base, e.iface.URL = u, u.String()
	return e, (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && !p.downgrades(u)
}

// pin returns the URL at which an interface of the card is called. The configured address is
// the one that is known to work from here; cards behind proxies and in containers name others.
// An interface on the configured host stays unchanged. One on another host is moved there: to
// the path that the card names, if such paths are valid there, and else to exactly the
// configured URL.
func (p *Peer) pin(u *url.URL, binding a2a.TransportProtocol) *url.URL {
	if p.opts.URL == "" || p.opts.FollowCard || u.Host == p.home.Host && u.Scheme == p.home.Scheme {
		return u
	}
	out := *p.home
	if binding == card.TaskSend || p.sharesPaths() {
		out.Path, out.RawPath, out.RawQuery = u.Path, u.RawPath, u.RawQuery
	}
	return &out
}

// sharesPaths reports whether the paths that the card names are valid at the configured host:
// it has no path of its own, or one that the card names.
func (p *Peer) sharesPaths() bool {
	path := strings.Trim(p.home.Path, "/")
	if path == "" || strings.HasSuffix(path, ".json") {
		return true
	}
	return slices.ContainsFunc(p.card.A2A.SupportedInterfaces, func(i *a2a.AgentInterface) bool {
		u, err := url.Parse(i.URL)
		return err == nil && strings.Trim(u.Path, "/") == path
	})
}

// pinsHost reports whether an address without a scheme may be called: it must name the
// configured host.
func (p *Peer) pinsHost(address string) bool {
	return p.opts.URL == "" || p.opts.FollowCard || hostOf(address) == p.home.Hostname()
}

// hostOf returns the host of a "host:port" or of a URL.
func hostOf(address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	u, err := url.Parse("//" + address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// downgrades reports whether a call to u would be unencrypted although the peer was configured,
// or its card was fetched, over TLS.
func (p *Peer) downgrades(u *url.URL) bool {
	return p.home != nil && p.home.Scheme == "https" && u.Scheme == "http"
}

// trusts reports whether credentials may be sent to u.
func (p *Peer) trusts(u *url.URL) bool { return p.trustsHost(u.Hostname()) && !p.downgrades(u) }

func (p *Peer) trustsHost(host string) bool {
	return p.home == nil || p.opts.Credentials.AnyHost || host == p.home.Hostname()
}

// order returns the endpoints in the order in which a call tries them.
func (p *Peer) order() []*endpoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append(p.endpoints[p.current:len(p.endpoints):len(p.endpoints)], p.endpoints[:p.current]...)
}

// worked records that e could be reached.
func (p *Peer) worked(e *endpoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = slices.Index(p.endpoints, e)
}

// offered lists the interfaces of a card for an error message.
func offered(c *a2a.AgentCard) string {
	if len(c.SupportedInterfaces) == 0 {
		return "no A2A interface"
	}
	var names []string
	for _, i := range c.SupportedInterfaces {
		if i != nil {
			names = append(names, fmt.Sprintf("%s %s at %s", i.ProtocolBinding, i.ProtocolVersion, i.URL))
		}
	}
	return strings.Join(names, ", ")
}

// join returns the headers of a and of b; those of b take precedence.
func join(a, b http.Header) http.Header {
	out := a.Clone()
	if out == nil {
		out = make(http.Header)
	}
	for name, values := range b {
		out[name] = values
	}
	return out
}
