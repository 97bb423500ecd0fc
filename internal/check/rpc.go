package check

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/parley-a2a/parley/internal/check/wire"
)

func rpcRequirements() []requirement {
	on := wire.JSONRPC
	return []requirement{
		must("rpc.envelope", "§9.3", "An answer is a JSON-RPC 2.0 object with the id of the request, and either a result or an error.", rpcEnvelope, on),
		must("rpc.number-id", "§9.3", "A number as id comes back as that number.", rpcNumberID, on),
		must("rpc.type", "§9.1", "An answer has the media type application/json.", rpcType, on),
		must("rpc.parse-error", "§9.5", "What is not JSON is error -32700.", rpcRaw(`{"jsonrpc":"2.0","id":1,`, wire.ParseError), on),
		must("rpc.trailing", "§9.5", "JSON with something behind it is error -32700.",
			rpcRaw(`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}} {`, wire.ParseError, wire.InvalidRequest), on),
		must("rpc.no-method", "§9.5", "A request without a method is error -32600.", rpcRaw(`{"jsonrpc":"2.0","id":1,"params":{}}`, wire.InvalidRequest, wire.MethodNotFound), on),
		must("rpc.unknown-method", "§9.5", "A method that does not exist is error -32601.", rpcRaw(`{"jsonrpc":"2.0","id":1,"method":"DoTheImpossible","params":{}}`, wire.MethodNotFound), on),
		must("rpc.bad-params", "§9.5", "Parameters of the wrong type are error -32602.",
			rpcRaw(`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":{"not":"a string"}}}`, wire.InvalidParams, wire.InvalidRequest, wire.ParseError), on),
		should("rpc.batch", "§9.3", "A batch is refused.", rpcRaw(`[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}]`, wire.InvalidRequest, wire.ParseError), on),
		must("rpc.error-object", "§9.5", "An error has an integer code and a message, and beside them only data.", rpcErrorObject, on),
	}
}

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

// rpcRaw returns a check that a body is refused.
func rpcRaw(body string, kinds ...wire.Kind) func(context.Context, *probe) error {
	return func(ctx context.Context, p *probe) error { return refused(p.raw(ctx, body), kinds...) }
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

func rpcNumberID(ctx context.Context, p *probe) error {
	x := p.do(ctx, wire.Request{Op: wire.GetTask, Params: map[string]any{"id": unknownID()}, ID: 4711})
	if x.Err != nil {
		return ok(x)
	}
	if got := at(x.Envelope, "id"); got != json.Number("4711") {
		return failf(x, "the id is %s, want 4711", compact(got))
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
