package httpfront

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

var errNoStreaming = apierror.New(a2a.ErrUnsupportedOperation, "streaming is disabled here")

// The methods of this file accept a decoded call together with the error of its decoder, so
// that both bindings pass the results of their decoders on directly.

func (x *exchange) send(r *op.Send, err error) error {
	if err != nil {
		return err
	}
	if err := x.ownSend(r); err != nil {
		return err
	}
	if !r.ReturnImmediately {
		defer x.last()()
	}
	a, err := x.front.cfg.Engine.Send(x.r.Context(), &x.caller, r)
	return x.answer(a, err, dialect.AppendSendResponse)
}

// ownSend completes a message. The parts of the request's buffer that it keeps are copied,
// because the task outlives the request.
func (x *exchange) ownSend(r *op.Send) (err error) {
	x.agent(&r.Target)
	x.adopt(r)
	r.Metadata = bytes.Clone(r.Metadata)
	r.NewIDs = x.takesIDs()
	r.Wrap = !x.wantsResult()
	if x.shape != dialect.V1 {
		r.Dialect = uint8(x.shape)
		r.NewIDs = false
		r.Task = dialect.Of(x.shape).Serving.Tasks
		if r.Push != nil {
			r.Push.Dialect = uint8(x.shape)
		}
	}
	if x.usesAliases() {
		dialect.ForJob(r, x.front.cfg.Engine.Offers)
	}
	if r.Aliases {
		// Such a client continues a task by its context, and reads a task by the message's id.
		r.Resume, r.Alias = true, r.Message.ID
	}
	r.Key, err = x.idempotencyKey()
	return err
}

func (x *exchange) get(r *op.Get, err error) error {
	if err != nil {
		return err
	}
	x.agent(&r.Target)
	a, err := x.front.cfg.Engine.Get(x.r.Context(), &x.caller, r)
	return x.answer(a, err, dialect.AppendTask)
}

func (x *exchange) cancel(r *op.Cancel, err error) error {
	if err != nil {
		return err
	}
	x.agent(&r.Target)
	r.Metadata = bytes.Clone(r.Metadata)
	a, err := x.front.cfg.Engine.Cancel(x.r.Context(), &x.caller, r)
	return x.answer(a, err, dialect.AppendTask)
}

func (x *exchange) list(r *op.List, err error) error {
	if err != nil {
		return err
	}
	x.agent(&r.Target)
	p, err := x.front.cfg.Engine.List(x.r.Context(), &x.caller, r)
	if err != nil {
		return err
	}
	if r.Agent != "" || r.Tenant != "" {
		x.activated(cmp.Or(r.Agent, task.Agent(r.Tenant)), nil)
	}
	x.result(func(dst []byte) []byte { return dialect.AppendPage(dst, p, x.surface()) })
	return nil
}

// answer sends an answer of the engine, or returns its error.
func (x *exchange) answer(a *engine.Answer, err error, write func([]byte, *op.Answer, dialect.Surface) []byte) error {
	if err != nil {
		return err
	}
	defer a.Release()
	x.about(&a.Head)
	x.activated(a.Head.Agent, a.Confirmed)
	x.result(func(dst []byte) []byte { return write(slices.Grow(dst, sizeOf(a)), &a.Answer, x.surface()) })
	return nil
}

// sizeOf returns the approximate size of a large answer, with room for its envelope; zero for a
// small one.
func sizeOf(a *engine.Answer) int {
	if a.Size == 0 {
		return 0
	}
	return a.Size + 4<<10
}

// result sends what write appends, in the envelope of the call.
func (x *exchange) result(write func([]byte) []byte) {
	buf := takeBuffer()
	defer buf.put()
	env := x.envelope()
	if x.shape == dialect.V1 {
		buf.b = env.Close(write(env.Open(buf.b)))
	} else {
		buf.b = env.Close(x.shape.AppendResult(env.Open(buf.b), x.operation, write(nil)))
	}
	x.reply(buf.b)
}
