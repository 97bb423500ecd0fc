package check

import (
	"context"
	"net/http"
	"slices"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// raw posts a body as it is.
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

func rpcEnvelope(ctx context.Context, p *probe) error {
	for _, r := range []wire.Request{
		{Op: wire.GetTask, Params: map[string]any{"id": unknownID()}, ID: "check-id-1"},
		{Op: wire.SendMessage, Params: completes.message(), ID: "check-id-1"},
	} {
		x := p.do(ctx, r)
		switch {
		case x.Err != nil:
			return ok(x)
		case text(x.Envelope, "jsonrpc") != "2.0":
			return failf(x, "jsonrpc is %s", compact(at(x.Envelope, "jsonrpc")))
		case text(x.Envelope, "id") != "check-id-1":
			return failf(x, "the id is %s, want %q", compact(at(x.Envelope, "id")), "check-id-1")
		case len(arms(x.Envelope, "result", "error")) != 1:
			return failf(x, "the answer has %q of result and error", arms(x.Envelope, "result", "error"))
		}
	}
	return nil
}

func rpcType(ctx context.Context, p *probe) error {
	x := p.plain(ctx)
	if x.Err != nil {
		return require(ok(x))
	}
	if got := wire.MediaType(x.Header); got != "application/json" {
		return failf(x, "the answer has the media type %q", got)
	}
	return nil
}

func rpcErrorObject(ctx context.Context, p *probe) error {
	return notFound(func(x *wire.Exchange) error {
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
	})(ctx, p)
}
