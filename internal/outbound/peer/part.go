package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// ErrElsewhere means that an address is not one of the peer, so nothing was sent.
var ErrElsewhere = errors.New("not an address of the agent")

// maxPartError bounds the bytes that are read of an error answer.
const maxPartError = 64 << 10

// Part reads the content of a part at an address that the peer has sent. The address must have
// the origin (scheme, host and port) of the peer, so that credentials and requests go nowhere
// else. Only ctx bounds the time; the caller must close the result.
func (p *Peer) Part(ctx context.Context, address string) (io.ReadCloser, error) {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || !p.own(u) {
		return nil, fmt.Errorf("part: %w", ErrElsewhere)
	}
	shown, err := p.auth.show(ctx)
	if err != nil {
		return nil, fmt.Errorf("part: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, withQuery(u, shown.query).String(), nil)
	if err != nil {
		return nil, fmt.Errorf("part: %w", err)
	}
	req.Header = join(p.opts.Header, shown.header)
	trace.Inject(ctx, req.Header)
	for _, c := range shown.cookie {
		req.AddCookie(c)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("part: %w", explain(ctx, err))
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	raw, err := httpcall.ReadBounded(resp.Body, maxPartError)
	if err != nil {
		return nil, fmt.Errorf("part: status %d: %w", resp.StatusCode, err)
	}
	return nil, fmt.Errorf("part: %w", ErrorOf(resp.StatusCode, raw))
}

// own reports whether u has the origin of the peer: the configured one, or that of an endpoint
// to which calls with credentials go.
func (p *Peer) own(u *url.URL) bool {
	same := func(o *url.URL) bool { return o != nil && sameOrigin(o, u) && p.trusts(u) }
	return same(p.home) || slices.ContainsFunc(p.order(), func(e *endpoint) bool { return same(e.base) })
}

// sameOrigin compares scheme, host and port. An explicit default port counts as different from
// an omitted one, which only affects unusual addresses.
func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Host, b.Host)
}
