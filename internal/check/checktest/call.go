package checktest

import (
	"context"
	"encoding/json"

	"github.com/parley-a2a/parley/internal/check/wire"
	"github.com/parley-a2a/parley/internal/dialect"
)

// call is a call over one of the bindings.
type call struct {
	server *Server
	shape  dialect.Shape
	op     wire.Op // the v1.0 operation; empty if there is no such method
	// params returns the v1.0 params.
	params func(dialect.Operation) (Object, *Fault)
	// send sends a result; begin returns a function that sends the events of a stream.
	send  func(result json.RawMessage)
	begin func() func(event json.RawMessage) bool
}

// serve executes the call and sends its results in the dialect. It returns a fault unsent.
func (c *call) serve(ctx context.Context) *Fault {
	o, err := dialect.Lookup(string(c.op))
	if err != nil {
		return &Fault{wire.MethodNotFound, "no such method"}
	}
	params, f := c.params(o)
	if f != nil {
		return f
	}
	if !c.op.Streams() {
		result, f := c.server.operate(c.op, params)
		if f == nil {
			c.send(c.shape.AppendResult(nil, o, marshal(result)))
		}
		return f
	}
	return c.server.follow(ctx, c.op, params, func() Sink {
		send, rewrite := c.begin(), c.shape.Frames()
		return func(e Object) bool {
			for _, event := range rewrite(marshal(e)) {
				if !send(event) {
					return false
				}
			}
			return true
		}
	})
}

// read returns params that already are those of v1.0.
func read(params Object) func(dialect.Operation) (Object, *Fault) {
	return func(dialect.Operation) (Object, *Fault) { return params, nil }
}

// legacyOps maps the operations of v0.3 to those of v1.0.
var legacyOps = map[wire.Op]wire.Op{
	wire.LegacySend: wire.SendMessage, wire.LegacyStream: wire.StreamMessage, wire.LegacyGet: wire.GetTask,
	wire.LegacyCancel: wire.CancelTask, wire.LegacySubscribe: wire.SubscribeTask,
	wire.LegacyCreatePush: wire.CreatePush, wire.LegacyGetPush: wire.GetPush,
	wire.LegacyListPush: wire.ListPush, wire.LegacyDeletePush: wire.DeletePush,
}

// rewritten returns params that the dialect converts from v0.3.
func rewritten(read func(dialect.Operation) ([]byte, error)) func(dialect.Operation) (Object, *Fault) {
	return func(o dialect.Operation) (Object, *Fault) {
		text, err := read(o)
		var params Object
		if err == nil {
			err = json.Unmarshal(text, &params)
		}
		if err != nil {
			return nil, &Fault{wire.InvalidParams, err.Error()}
		}
		if m, ok := params["message"].(Object); ok && m["role"] == "user" {
			m["role"] = "ROLE_USER"
		}
		return params, nil
	}
}
