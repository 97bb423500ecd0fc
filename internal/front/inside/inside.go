// Package inside carries A2A calls of the hub's own models to the engine, in the same process.
//
// A [Binding] is a transport for a client of package client: it decodes the params of a call,
// calls the engine with the principal of the context, and encodes the answer. No HTTP is
// involved.
//
// # Guarantees
//
// The permissions, rate limits, memory budget, trace spans and audit records of a call are those
// of the same call over HTTP, and so are the errors. A call without a principal is refused.
//
// # Non-guarantees
//
// The binding has the calls that tools make: SendMessage, GetTask, CancelTask and
// SubscribeToTask. Others are not supported.
//
// # Concurrency
//
// A Binding is safe for concurrent use. Close waits for open calls.
package inside

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/outbound/inprocess"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// from is the address of callers in audit records, as for requests in the process.
const from = "127.0.0.1:0"

// Binding calls the engine. Engine is required.
type Binding struct {
	Engine *engine.Engine
	// Logger receives the errors whose text is withheld from callers. It is required.
	Logger *slog.Logger

	mu     sync.Mutex // guards closed, and the start of calls
	closed bool
	wg     sync.WaitGroup
}

var _ transport.Factory = (*Binding)(nil).Dial

// Dial implements transport.Factory. It never fails.
func (b *Binding) Dial(_ context.Context, _ a2a.AgentInterface, header transport.HeaderFunc, _ *tls.Config) (transport.Conn, error) {
	return &conn{b, header}, nil
}

// Close refuses calls from now on with inprocess.ErrClosed, and waits for those in progress.
func (b *Binding) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.wg.Wait()
}

// enter registers a call.
func (b *Binding) enter() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return inprocess.ErrClosed
	}
	b.wg.Add(1)
	return nil
}

// conn is a transport.Conn.
type conn struct {
	binding *Binding
	header  transport.HeaderFunc
}

// Close implements transport.Conn.
func (*conn) Close() error { return nil }

// call is one call. It belongs to one goroutine.
type call struct {
	*Binding
	caller  op.Caller
	method  string
	params  []byte
	header  http.Header
	decoder dialect.Decoder
	hold    *membudget.Hold
	span    trace.Span
	began   time.Time
	agent   task.Agent
}

// Call implements transport.Conn.
func (c *conn) Call(ctx context.Context, method string, params []byte) (out []byte, err error) {
	ctx, x, err := c.begin(ctx, method, params)
	if err != nil {
		return nil, err
	}
	defer func() { err = x.end(ctx, err) }()
	if err := x.admit(ctx); err != nil {
		return nil, err
	}
	a, write, err := x.do(ctx)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	x.about(&a.Head)
	return write(nil, &a.Answer, dialect.REST), nil
}

// do performs a call with one answer.
func (x *call) do(ctx context.Context) (*engine.Answer, func([]byte, *op.Answer, dialect.Surface) []byte, error) {
	switch x.method {
	case "SendMessage":
		r, err := x.decoder.Send(x.params)
		if err != nil {
			return nil, nil, err
		}
		if r.IDs != (trace.IDs{}) {
			ctx = trace.WithIDs(ctx, x.caller.Adopt(r.IDs))
		}
		r.Metadata, r.NewIDs = bytes.Clone(r.Metadata), x.Engine.ClientIDs()
		a, err := x.Engine.Send(ctx, &x.caller, r)
		return a, dialect.AppendSendResponse, err
	case "GetTask":
		r, err := x.decoder.Get(x.params)
		if err != nil {
			return nil, nil, err
		}
		a, err := x.Engine.Get(ctx, &x.caller, r)
		return a, dialect.AppendTask, err
	case "CancelTask":
		r, err := x.decoder.Cancel(x.params)
		if err != nil {
			return nil, nil, err
		}
		r.Metadata = bytes.Clone(r.Metadata)
		a, err := x.Engine.Cancel(ctx, &x.caller, r)
		return a, dialect.AppendTask, err
	}
	return nil, nil, apierror.New(a2a.ErrUnsupportedOperation, "%s is not available inside the hub", x.method)
}

// Stream implements transport.Conn.
func (c *conn) Stream(ctx context.Context, method string, params []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		ctx, x, err := c.begin(ctx, method, params)
		if err != nil {
			yield(nil, err)
			return
		}
		stopped := false
		err = x.admit(ctx)
		if err == nil {
			err = x.follow(ctx, func(frame []byte) bool {
				stopped = !yield(frame, nil)
				return !stopped
			})
		}
		if err = x.end(ctx, err); err != nil && !stopped {
			yield(nil, err)
		}
	}
}

// follow subscribes to a task, and passes its frames to yield until that returns false.
func (x *call) follow(ctx context.Context, yield func(frame []byte) bool) error {
	if x.method != "SubscribeToTask" {
		return apierror.New(a2a.ErrUnsupportedOperation, "%s is not available inside the hub", x.method)
	}
	r, err := x.decoder.Subscribe(x.params)
	if err != nil {
		return err
	}
	r.LastEventID = x.header.Get("Last-Event-ID")
	s, err := x.Engine.Subscribe(ctx, &x.caller, r)
	if err != nil {
		return err
	}
	defer s.Close()
	x.about(&s.Task)
	if a := s.First; a != nil {
		s.First = nil // it may be large, and the stream may be long
		if !yield(dialect.AppendSendResponse(nil, &a.Answer, dialect.REST)) {
			return nil
		}
	}
	for !s.Done {
		events, err := s.Next(ctx, 0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range events {
			if f := events[i].Frame; f != nil && !yield(f) {
				return nil
			}
		}
	}
	return nil
}

// begin starts a call, which end must end.
func (c *conn) begin(ctx context.Context, method string, params []byte) (context.Context, *call, error) {
	h, err := c.header(ctx)
	if err != nil {
		return ctx, nil, err
	}
	if err := c.binding.enter(); err != nil {
		return ctx, nil, err
	}
	x := &call{Binding: c.binding, method: method, params: params, header: h}
	x.caller = op.Caller{Principal: auth.PrincipalFrom(ctx), Params: op.Params(h), From: from}
	if ids := trace.HeaderIDs(x.caller.Params); ids != (trace.IDs{}) {
		ctx = trace.WithIDs(ctx, ids)
	}
	if trace.On() {
		x.began = time.Now()
		ctx, x.span = trace.Start(trace.Extract(ctx, x.caller.Params), "request", trace.Server)
		if x.span.On() {
			x.caller.Params = trace.Store(ctx, x.caller.Params)
		}
	}
	return ctx, x, nil
}

// admit checks the caller, and counts the call against its limits.
func (x *call) admit(ctx context.Context) error {
	if auth.Known(x.caller.Principal) != nil {
		return auth.ErrUnauthenticated
	}
	size, most := int64(len(x.params)), x.Engine.Limits().Body
	if size > most {
		return apierror.New(apierror.ErrTooLarge, "the request body is larger than %d bytes", most)
	}
	if l := x.Engine.Limiter(); l != nil {
		owner := x.caller.Principal.Owner()
		if err := l.Request(owner); err != nil {
			return err
		}
		if err := l.Bytes(owner, len(x.params)); err != nil {
			return err
		}
	}
	if size > membudget.Small {
		hold, err := x.Engine.Memory().Acquire(ctx, membudget.MessageFactor*size)
		if err != nil {
			return err
		}
		x.hold, x.caller.Admitted = hold, hold.Release
	}
	return x.decoder.Body(x.params)
}

// about records the task of the answer.
func (x *call) about(h *task.Head) {
	x.agent = h.Agent
	x.span.Text(trace.TaskID, string(h.ID))
	x.span.Text(trace.ContextID, h.ContextID)
}

// end ends the call. It returns err in the form for callers.
func (x *call) end(ctx context.Context, err error) error {
	defer x.wg.Done()
	x.hold.Release()
	reason := ""
	if err != nil {
		e := x.explain(ctx, err)
		err, reason = e, e.Reason
	}
	if x.began.IsZero() {
		return err
	}
	l := trace.Labels{
		Agent: string(x.agent), Protocol: dialect.V1.String(), Version: "1.0", Transport: "inprocess", Reason: reason, Operation: x.method,
	}
	trace.Served(ctx, l, time.Since(x.began))
	if x.span.On() {
		x.span.Rename(l.Operation)
		x.span.Label(l)
		if reason != "" {
			x.span.Fail(reason)
		}
		x.span.End()
	}
	return err
}

// explain returns an error as a caller over HTTP would get it.
func (x *call) explain(ctx context.Context, err error) *transport.Error {
	r := dialect.Explain(err, "")
	if r.Hidden {
		ref := uuid.NewString()
		x.Logger.ErrorContext(ctx, "request failed", "method", x.method, "reference", ref, "error", err)
		r = dialect.Explain(err, ref)
	}
	e := &transport.Error{Reason: r.Reason, Message: r.Message, Meta: r.Meta, Status: r.HTTP, RetryAfter: r.RetryAfter}
	return e.Settle()
}
