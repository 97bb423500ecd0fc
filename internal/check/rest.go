package check

import (
	"context"
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// plainly sends a request to a path below the interface.
func (p *probe) plainly(ctx context.Context, method, path, mediaType, body string) *wire.Exchange {
	header := http.Header{"Accept": {"application/json"}, "A2a-Version": {p.iface.Version}}
	if mediaType != "" {
		header.Set("Content-Type", mediaType)
	}
	base := strings.TrimRight(p.iface.URL, "/")
	if p.iface.Tenant != "" {
		base += "/" + p.iface.Tenant
	}
	return p.ask("", func() *wire.Exchange {
		return p.run.http.Do(ctx, wire.Plain{Method: method, URL: base + path, Body: []byte(body), Header: header})
	})
}

func restType(ctx context.Context, p *probe) error {
	x := p.plain(ctx)
	if x.Err != nil {
		return require(ok(x))
	}
	if got := wire.MediaType(x.Header); got != "application/a2a+json" && got != "application/json" {
		return failf(x, "the answer has the media type %q", got)
	}
	return nil
}

func restErrorBody(x *wire.Exchange) error {
	e := at(x.Envelope, "error")
	if text(e, "status") == "" || text(e, "message") == "" {
		return failf(x, "the error has status %s and message %s", compact(at(e, "status")), compact(at(e, "message")))
	}
	if got := compact(at(e, "code")); got != compact(x.Status) {
		return failf(x, "the error has code %s, but the HTTP status is %d", got, x.Status)
	}
	return nil
}
