package check

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// raw posts a body unchanged.
func (p *probe) raw(ctx context.Context, body string) *wire.Exchange {
	x := p.ask("", func() *wire.Exchange {
		return p.run.http.Do(ctx, wire.Plain{
			Method: http.MethodPost, URL: p.iface.URL, Body: []byte(body),
			Header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}, "A2a-Version": {p.iface.Version}},
		})
	})
	if e, ok := at(x.Envelope, "error").(map[string]any); ok {
		x.Fault = wire.RPCFault(e)
	}
	return x
}

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

func rpcErrorObject(ctx context.Context, p *probe) error {
	x, err := p.notFound(ctx)
	if err != nil {
		return err
	}
	e, isObject := at(x.Envelope, "error").(map[string]any)
	if !isObject {
		return failf(x, "the error is not an object")
	}
	if x.Fault.Code == 0 || x.Fault.Message == "" {
		return failf(x, "the error has code %s and message %s", compact(e["code"]), compact(e["message"]))
	}
	for name := range e {
		if !slices.Contains([]string{"code", "message", "data"}, name) {
			return failf(x, "the error has a member %q", name)
		}
	}
	return nil
}
