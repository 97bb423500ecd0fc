package httpfront

import (
	"bytes"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// versionHeader is A2A-Version as package http spells it.
const versionHeader = "A2a-Version"

// serveRPC answers a JSON-RPC request (specification §9).
func (x *exchange) serveRPC() {
	x.in = takeBuffer()
	defer x.release()
	if err := x.readRPC(); err != nil {
		x.fail(err)
		return
	}
	call, err := x.front.decoder.Call(x.in.b)
	x.id = call.ID
	if err != nil {
		x.fail(err)
		return
	}
	if err := x.callRPC(&call); err != nil {
		x.fail(err)
	}
}

// callRPC performs a call.
func (x *exchange) callRPC(call *dialect.Call) error {
	o, err := x.recognize(call)
	x.operation = o
	if err == nil && o != dialect.GetExtendedAgentCard {
		err = x.onlyCard()
	}
	if err != nil {
		return err
	}
	if x.shape == dialect.V1 {
		return x.perform(o, call.Params)
	}
	params, err := x.shape.Request(o, call.Params)
	if err == nil {
		err = x.shape.Blame(o, x.perform(o, params))
	}
	return err
}

// perform answers a call with params of v1.0, or returns an error.
func (x *exchange) perform(o dialect.Operation, params []byte) error {
	if !o.Streaming() {
		return x.unaryRPC(o, params)
	}
	// The stream outlives the buffer.
	x.id = bytes.Clone(x.id)
	if o == dialect.SendStreamingMessage {
		r, err := x.decoder().Send(params)
		return x.stream(r, err)
	}
	r, err := x.decoder().Subscribe(params)
	return x.subscribe(r, err)
}

func (x *exchange) readRPC() error {
	if err := x.contentType(mediaJSON); err != nil {
		return err
	}
	return x.readBody()
}

// unaryRPC answers a call that has one answer, or returns an error.
func (x *exchange) unaryRPC(o dialect.Operation, params []byte) error {
	switch d := x.decoder(); {
	case o == dialect.SendMessage:
		r, err := d.Send(params)
		return x.send(r, err)
	case o == dialect.GetTask:
		r, err := d.Get(params)
		return x.get(r, err)
	case o == dialect.ListTasks:
		r, err := d.List(params)
		return x.list(r, err)
	case o == dialect.CancelTask:
		r, err := d.Cancel(params)
		return x.cancel(r, err)
	case o == dialect.GetExtendedAgentCard:
		r, err := d.Extended(params)
		return x.extendedCard(r, err)
	}
	return x.pushRPC(o, params)
}

// agent sets the agent of the path in a call.
func (x *exchange) agent(t *op.Target) {
	t.Agent = task.Agent(x.route.agent)
	t.Aliases = x.usesAliases()
}

// surface returns the binding, on which small differences of the answers depend.
func (x *exchange) surface() dialect.Surface {
	switch {
	case dialect.Of(x.shape).Serving.Messages:
		return dialect.RPCMessages
	case x.route.rpc:
		return dialect.RPC
	case x.front.cfg.Choices.Messages && !x.route.legacy:
		return dialect.RESTMessages
	}
	return dialect.REST
}

// envelope returns the envelope around the results of this call.
func (x *exchange) envelope() dialect.Envelope {
	if x.route.rpc {
		return dialect.NewEnvelope(x.id)
	}
	return dialect.Envelope{}
}
