package card

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/outbound/httpcall"
)

// Defaults of [FetchOptions].
const (
	DefaultMaxBytes = 256 << 10
	DefaultTimeout  = 30 * time.Second
)

// ErrNotModified is returned if the card still has the entity tag FetchOptions.ETag.
var ErrNotModified = errors.New("agent card not modified")

// wellKnown lists the paths of a card below a base URL, newest first (specification §8.2;
// agents before v0.3 used the second).
var wellKnown = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// FetchOptions configure Fetch. The zero value fetches the card without credentials.
type FetchOptions struct {
	// Client sends the requests; its CheckRedirect is replaced. If nil, a client with a connect
	// timeout of ten seconds is used.
	Client *http.Client
	// Header is added to each request.
	Header http.Header
	// ETag is the entity tag of the card that the caller already has, or empty. Fetch returns
	// ErrNotModified if the card has not changed.
	ETag string
	// Target is the tenant below the URL whose card is requested first. Empty means none.
	Target string
	// MaxBytes limits the size of the card. Zero means DefaultMaxBytes.
	MaxBytes int64
	// Timeout limits the whole search. Zero means DefaultTimeout, negative means no limit.
	Timeout time.Duration
}

// StatusError is returned if a server refuses to serve its card. It wraps
// a2a.ErrUnauthenticated for status 401 and a2a.ErrUnauthorized for 403.
type StatusError struct {
	URL    *url.URL
	Status int
	// Body is the body of the response.
	Body []byte
}

// Error returns the requested URL and the status.
func (e *StatusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%s: HTTP %d %s", e.URL.Redacted(), e.Status, http.StatusText(e.Status)))
}

// Unwrap returns the SDK's sentinel for the status, or nil.
func (e *StatusError) Unwrap() error {
	switch e.Status {
	case http.StatusUnauthorized:
		return a2a.ErrUnauthenticated
	case http.StatusForbidden:
		return a2a.ErrUnauthorized
	}
	return nil
}

// absent reports whether the status means that there is no card at the URL.
func (e *StatusError) absent() bool {
	return e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusGone
}

// Fetch returns the card of the agent at rawURL. That is one of three URLs: a base URL with the
// card at the well-known path below it (specification §8.2), the card's own URL if it ends in
// ".json", or the URL of an interface. For an interface, the card may also be at the same URL
// without a trailing "/a2a", or at the root of the host if that card lists an interface with
// the path of rawURL. A bare "host:port" means http on a loopback host and https elsewhere.
//
// If no URL has a card, Fetch returns an error that wraps ErrNoCard and describes the response.
// It returns a *StatusError if a server refuses to answer. Redirects are followed only within
// the host.
func Fetch(ctx context.Context, rawURL string, o *FetchOptions) (*Card, error) {
	if o == nil {
		o = new(FetchOptions)
	}
	client, release := httpcall.Client(o.Client)
	defer release()
	ctx, cancel := o.bound(ctx)
	defer cancel()
	f := fetcher{client: client, opts: o}
	c, err := f.find(ctx, rawURL)
	if err != nil {
		return nil, fmt.Errorf("card of %s: %w", redacted(rawURL), err)
	}
	return c, nil
}

func redacted(rawURL string) string {
	if u, err := url.Parse(rawURL); err == nil && u.User != nil {
		return u.Redacted()
	}
	return rawURL
}

func (o *FetchOptions) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	d := o.Timeout
	switch {
	case d < 0:
		return context.WithCancel(ctx)
	case d == 0:
		d = DefaultTimeout
	}
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %v: %w", d, context.DeadlineExceeded))
}

// fetcher searches for one card.
type fetcher struct {
	client *http.Client
	opts   *FetchOptions
}

func (f *fetcher) find(ctx context.Context, rawURL string) (*Card, error) {
	base, err := httpcall.ParseURL(rawURL)
	if err != nil {
		return nil, err
	}
	var strange error // the error of a URL that has something other than a card
	for _, place := range candidates(base, f.opts.Target) {
		c, err := f.get(ctx, place.url)
		var status *StatusError
		switch {
		case err == nil && place.root && !lists(c.A2A, base):
			if strange == nil {
				strange = fmt.Errorf("%w: the one at %s belongs to another agent", ErrNoCard, place.url.Redacted())
			}
		case errors.As(err, &status) && status.absent():
		case errors.Is(err, ErrNoCard):
			if strange == nil {
				strange = err
			}
		default:
			if c == nil || f.opts.Target == "" || place.target {
				return c, err
			}
			if own := f.ofTarget(ctx, base, c); own != nil {
				return own, nil
			}
			c.Fallback = true
			return c, err
		}
	}
	if strange != nil {
		return nil, strange
	}
	return nil, ErrNoCard
}

// ofTarget returns the card of the target. It searches below the HTTP+JSON interfaces of the
// card at base, where a host serves its tenants. It returns nil if there is none.
func (f *fetcher) ofTarget(ctx context.Context, base *url.URL, c *Card) *Card {
	for _, i := range c.A2A.SupportedInterfaces {
		if i == nil || i.ProtocolBinding != a2a.TransportProtocolHTTPJSON {
			continue
		}
		u, err := httpcall.ParseURL(i.URL)
		if err != nil || u.Scheme != base.Scheme || u.Host != base.Host {
			continue
		}
		if own, err := f.get(ctx, u.JoinPath(url.PathEscape(f.opts.Target), wellKnown[0])); err == nil {
			return own
		}
	}
	return nil
}

// candidate is a possible URL of a card.
type candidate struct {
	url *url.URL
	// root is set for the card of the whole host. It is the wrong agent's unless it lists the
	// requested URL.
	root bool
	// target is set for the card of the requested tenant.
	target bool
}

// candidates returns the URLs to search for the card of an agent, in this order.
func candidates(base *url.URL, target string) []candidate {
	if strings.HasSuffix(base.Path, ".json") {
		return []candidate{{url: base}}
	}
	var all []candidate
	add := func(at *url.URL, root bool) {
		for _, path := range wellKnown {
			all = append(all, candidate{url: at.JoinPath(path), root: root})
		}
	}
	if target != "" {
		all = append(all, candidate{url: base.JoinPath(url.PathEscape(target), wellKnown[0]), target: true})
	}
	add(base, false)
	path := strings.TrimRight(base.Path, "/")
	if path == "" {
		return all
	}
	root := &url.URL{Scheme: base.Scheme, Host: base.Host, User: base.User}
	above, rpc := strings.CutSuffix(path, "/a2a")
	if rpc && above != "" {
		at := *base
		at.Path, at.RawPath = above, ""
		add(&at, false)
	}
	add(root, !rpc || above != "")
	return all
}

func (f *fetcher) get(ctx context.Context, u *url.URL) (*Card, error) {
	req, err := f.request(ctx, u)
	if err != nil {
		return nil, err
	}
	resp, err := f.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, httpcall.Reason(err)
	}
	raw, err := httpcall.ReadBounded(resp.Body, cmp.Or(max(0, f.opts.MaxBytes), DefaultMaxBytes))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("read card: %w", err)
	case resp.StatusCode == http.StatusNotModified:
		return nil, ErrNotModified
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, &StatusError{URL: u, Status: resp.StatusCode, Body: raw}
	}
	c, err := Read(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u.Redacted(), err)
	}
	c.ETag = resp.Header.Get("ETag")
	c.SetFrom(resp.Request.URL)
	return c, nil
}

func (f *fetcher) request(ctx context.Context, u *url.URL) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if f.opts.Header != nil {
		req.Header = f.opts.Header.Clone()
	}
	req.Header.Set("Accept", "application/json, application/a2a+json")
	req.Header.Set("A2A-Version", string(a2a.Version))
	if f.opts.ETag != "" {
		req.Header.Set("If-None-Match", f.opts.ETag)
	}
	return req, nil
}

// lists reports whether card has an interface with the path of u. Hosts are not compared,
// because agents behind proxies and in containers have several names.
func lists(card *a2a.AgentCard, u *url.URL) bool {
	for _, i := range card.SupportedInterfaces {
		at, err := url.Parse(i.URL)
		if err == nil && strings.Trim(at.Path, "/") == strings.Trim(u.Path, "/") {
			return true
		}
	}
	return false
}
