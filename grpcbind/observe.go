package grpcbind

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// observer registers services whose calls are recorded, on any server.
type observer struct{ grpc.ServiceRegistrar }

// RegisterService implements grpc.ServiceRegistrar.
func (o observer) RegisterService(desc *grpc.ServiceDesc, service any) {
	d := *desc
	d.Methods, d.Streams = slices.Clone(d.Methods), slices.Clone(d.Streams)
	s := service.(receiver)
	for i := range d.Methods {
		d.Methods[i].Handler = observeCall(d.Methods[i].Handler, s)
	}
	for i := range d.Streams {
		d.Streams[i].Handler = observeStream(d.Streams[i].Handler, s)
	}
	o.ServiceRegistrar.RegisterService(&d, service)
}

// receiver is a service that waits for the message of a call.
type receiver interface {
	arrived(ctx context.Context) error
}

// callContext is the context of a call, which gRPC passes as the second parameter.
type callContext = context.Context

func observeCall(next grpc.MethodHandler, s receiver) grpc.MethodHandler {
	return func(srv any, ctx callContext, dec func(any) error, in grpc.UnaryServerInterceptor) (any, error) {
		read := func(m any) error {
			if err := s.arrived(ctx); err != nil {
				return err
			}
			return dec(m)
		}
		ctx, x := observe(ctx)
		defer x.conclude(ctx)
		out, err := next(srv, ctx, read, in)
		x.failed(err)
		return out, err
	}
}

func observeStream(next grpc.StreamHandler, p receiver) grpc.StreamHandler {
	return func(srv any, s grpc.ServerStream) error {
		ctx, x := observe(s.Context())
		defer x.conclude(ctx)
		err := next(srv, &observedStream{s, ctx, x, p})
		x.failed(err)
		return err
	}
}

// observedStream is a stream with another context. It counts the messages that are sent.
type observedStream struct {
	grpc.ServerStream

	ctx  context.Context //nolint:containedctx // a stream is a context
	seen *observed
	from receiver
}

// Context implements grpc.ServerStream.
func (s *observedStream) Context() context.Context { return s.ctx }

// RecvMsg implements grpc.ServerStream. It reads the one message of the caller.
func (s *observedStream) RecvMsg(m any) error {
	if err := s.from.arrived(s.ctx); err != nil {
		return err
	}
	return s.ServerStream.RecvMsg(m)
}

// SendMsg implements grpc.ServerStream.
func (s *observedStream) SendMsg(m any) error {
	err := s.ServerStream.SendMsg(m)
	if err == nil && s.seen != nil {
		s.seen.events.Add(1)
	}
	return err
}

// observed is the recording of a call. A nil observed records nothing.
type observed struct {
	began  time.Time
	span   trace.Span
	labels trace.Labels
	events atomic.Int64
}

type observedKey struct{}

// observe reads the trace ids of a call, and starts recording it. The observed is nil if
// nothing is recorded.
func observe(ctx context.Context) (context.Context, *observed) {
	md, _ := metadata.FromIncomingContext(ctx)
	params := serviceParams(md)
	if len(params) == 0 && !trace.On() {
		return ctx, nil
	}
	if ids := trace.HeaderIDs(params); ids != (trace.IDs{}) {
		sendIDs(ctx, ids)
		ctx = trace.WithIDs(ctx, ids)
	}
	ctx = trace.Extract(ctx, params)
	if !trace.On() {
		return ctx, nil
	}
	x := &observed{began: time.Now(), labels: trace.Labels{Transport: "grpc"}}
	ctx, x.span = trace.Start(ctx, "request", trace.Server)
	return context.WithValue(ctx, observedKey{}, x), x
}

func observedFrom(ctx context.Context) *observed {
	x, _ := ctx.Value(observedKey{}).(*observed)
	return x
}

// sendIDs sends the caller's ids back.
func sendIDs(ctx context.Context, ids trace.IDs) {
	md := metadata.MD(trace.StoreIDs(nil, ids))
	if md.Len() > 0 {
		_ = grpc.SetHeader(ctx, md) // fails if no header can be sent
	}
}

// joined returns the service parameters of a call, with the trace context of its span if
// that is recorded.
func joined(ctx context.Context, params map[string][]string) map[string][]string {
	if x := observedFrom(ctx); x != nil && x.span.On() {
		return trace.Store(ctx, params)
	}
	return params
}

// adoptIDs applies the ids that a message names.
func adoptIDs(ctx context.Context, c *op.Caller, r *op.Send) {
	if r.IDs == (trace.IDs{}) {
		return
	}
	ids := c.Adopt(r.IDs)
	sendIDs(ctx, ids)
	if x := observedFrom(ctx); x != nil {
		x.span.Text(trace.CorrelationID, ids.Correlation)
		x.span.Text(trace.SessionID, ids.Session)
	}
}

// performs records the operation of a call.
func performs(ctx context.Context, s *base, o dialect.Operation) {
	x := observedFrom(ctx)
	if x == nil {
		return
	}
	x.labels.Operation, x.labels.Protocol, x.labels.Version = o.String(), s.shape.String(), "1.0"
	if s.shape != dialect.V1 {
		x.labels.Version = "0.3"
	}
	x.span.Rename(o.String())
}

// recordTask records the task of the answer to a call.
func recordTask(ctx context.Context, h *task.Head) {
	if x := observedFrom(ctx); x != nil {
		x.labels.Agent = string(h.Agent)
		x.span.Text(trace.TaskID, string(h.ID))
		x.span.Text(trace.ContextID, h.ContextID)
	}
}

// failed records an error without a recorded reason, such as a panic.
func (x *observed) failed(err error) {
	if x != nil && err != nil && x.labels.Reason == "" {
		x.labels.Reason = status.Code(err).String()
	}
}

// conclude ends the recording that observe has started.
func (x *observed) conclude(ctx context.Context) {
	if x == nil {
		return
	}
	took, l, events := time.Since(x.began), x.labels, int(x.events.Load())
	trace.Served(ctx, l, took)
	trace.Count(ctx, trace.ServedEvents, trace.Labels{Agent: l.Agent, Protocol: l.Protocol, Transport: l.Transport}, events)
	if !x.span.On() {
		return
	}
	x.span.Label(l)
	x.span.Text(trace.Grade, trace.GradeOf(took))
	if events > 0 {
		x.span.Int(trace.Events, events)
	}
	if l.Reason != "" {
		x.span.Fail(l.Reason)
	}
	x.span.End()
}
