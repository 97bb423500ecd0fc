package httpfront

import (
	"bytes"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
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
	o, err := x.rpcOperation(call.Method)
	if err == nil && o.Streaming() {
		// The stream outlives the buffer.
		x.id = bytes.Clone(x.id)
		err = x.streamRPC(o, call.Params)
	} else if err == nil {
		err = x.unaryRPC(o, call.Params)
	}
	if err != nil {
		x.fail(err)
	}
}

func (x *exchange) readRPC() error {
	if err := x.contentType(mediaJSON); err != nil {
		return err
	}
	return x.readBody()
}

// rpcOperation finds out what is called. The version counts first, because another
// version may have other methods.
func (x *exchange) rpcOperation(method string) (dialect.Operation, error) {
	surface := dialect.RPC
	if x.front.cfg.LenientVersion {
		surface = dialect.LenientRPC
	}
	if err := dialect.Version(x.r.Header[versionHeader], surface); err != nil {
		return 0, err
	}
	o, err := dialect.Lookup(method)
	if err == nil && o != dialect.GetExtendedAgentCard {
		err = x.onlyCard()
	}
	return o, err
}

// unaryRPC answers a call that has one answer, or returns an error.
func (x *exchange) unaryRPC(o dialect.Operation, params []byte) error {
	switch d := &x.front.decoder; {
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

// streamRPC answers a call that has a stream, or returns an error.
func (x *exchange) streamRPC(o dialect.Operation, params []byte) error {
	if o == dialect.SendStreamingMessage {
		r, err := x.front.decoder.Send(params)
		return x.stream(r, err)
	}
	r, err := x.front.decoder.Subscribe(params)
	return x.subscribe(r, err)
}

// agent puts the agent of the path into a call.
func (x *exchange) agent(t *op.Target) { t.Agent = task.Agent(x.route.agent) }

// surface returns what decides over the small differences of the answers.
func (x *exchange) surface() dialect.Surface {
	if x.route.rpc {
		return dialect.RPC
	}
	return dialect.REST
}

// envelope returns what stands around the results of this call.
func (x *exchange) envelope() dialect.Envelope {
	if x.route.rpc {
		return dialect.NewEnvelope(x.id)
	}
	return dialect.Envelope{}
}

func shown(a *engine.Answer) *dialect.Answer {
	return &dialect.Answer{Head: &a.Head, Fold: a.Fold, Message: a.Message, History: a.History}
}
