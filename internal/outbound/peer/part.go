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

// ErrElsewhere: an address is not one of the peer, so nothing was asked of it.
var ErrElsewhere = errors.New("not an address of the agent")

// maxPartError bounds what is read of an answer that is an error.
const maxPartError = 64 << 10

// Part asks for what is at an address that the peer has given for the content of a part. It
// must have the origin (scheme, host and port) of the peer: credentials go nowhere else, and
// nothing is asked for elsewhere. Only ctx bounds the time; the caller closes what is
// returned.
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

// own reports whether u is where the peer is: where it was configured to be, or where calls
// with credentials go.
func (p *Peer) own(u *url.URL) bool {
	same := func(o *url.URL) bool { return o != nil && sameOrigin(o, u) && p.trusts(u) }
	return same(p.home) || slices.ContainsFunc(p.order(), func(e *endpoint) bool { return same(e.base) })
}

// sameOrigin compares scheme, host and port. A port that is written out is another one than
// one that is not: that costs an address that nobody writes.
func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Host, b.Host)
}
