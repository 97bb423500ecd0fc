package peer

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// The names of spans. Dashboards use them.
const (
	unarySpan     = "http_dispatch"
	streamSpan    = "streaming_dispatch"
	subscribeSpan = "subscribe_loop"
	pollSpan      = "poll_loop"
)

// spanNames are the span names of calls that stream or not.
var spanNames = map[bool]string{false: unarySpan, true: streamSpan}

// observed is the recording of a call. The zero observed records nothing.
type observed struct {
	began  time.Time
	span   trace.Span
	labels trace.Labels
}

// observe starts recording a call.
func (p *Peer) observe(ctx context.Context, a *ask) (context.Context, observed) {
	if !trace.On() {
		return ctx, observed{}
	}
	x := observed{began: time.Now(), labels: trace.Labels{Agent: p.label, Operation: a.op.String()}}
	ctx, x.span = trace.Start(ctx, spanNames[a.op.Streaming()], trace.Client)
	x.span.Text(trace.TargetAgent, p.opts.Name)
	return ctx, x
}

// transports are the metric labels of bindings; others are "other".
var transports = map[a2a.TransportProtocol]string{
	a2a.TransportProtocolJSONRPC: "jsonrpc", a2a.TransportProtocolHTTPJSON: "http+json", a2a.TransportProtocolGRPC: "grpc",
	"INPROCESS": "inprocess",
}

// over records the binding and dialect of a call. The last one of several tries is kept.
func (x *observed) over(e *endpoint, s dialect.Shape) {
	if x.began.IsZero() {
		return
	}
	l := &x.labels
	l.Transport, l.Protocol, l.Version = cmp.Or(transports[e.iface.ProtocolBinding], "other"), s.String(), cmp.Or(dialect.Of(s).Version, "1.0")
}

// end ends the recording that observe has started.
func (x *observed) end(ctx context.Context, err error) {
	if x.began.IsZero() {
		return
	}
	took := time.Since(x.began)
	x.labels.Reason = reasonOf(err)
	trace.Requested(ctx, x.labels, took)
	x.span.Label(trace.Labels{
		Operation: x.labels.Operation, Protocol: x.labels.Protocol, Version: x.labels.Version, Transport: x.labels.Transport,
	})
	x.span.Text(trace.Grade, trace.GradeOf(took))
	if x.labels.Reason != "" {
		x.span.Fail(x.labels.Reason)
	}
	x.span.End()
}

// reasonOf returns the reason of a failed call as a word of a closed set; empty if it
// succeeded.
func reasonOf(err error) string {
	var agent *transport.Error
	var cut *transport.Cut
	switch {
	case err == nil, errors.Is(err, ErrNothingLeft):
		return ""
	case errors.Is(err, ErrOpen):
		return "BREAKER_OPEN"
	case errors.Is(err, ErrUnreachable):
		return "UNREACHABLE"
	case errors.Is(err, ErrUnsupported):
		return "UNSUPPORTED"
	case errors.As(err, &agent):
		if r := a2a.ErrorReason(agent.Err); r != "" {
			return r
		}
		return "SERVER_ERROR"
	case errors.As(err, &cut):
		return "CUT"
	case errors.Is(err, context.DeadlineExceeded):
		return "DEADLINE_EXCEEDED"
	case errors.Is(err, context.Canceled):
		return "CANCELLED"
	}
	return "BROKEN"
}

// count adds to a counter of the peer.
func (p *Peer) count(ctx context.Context, c trace.Counter, n int) {
	trace.Count(ctx, c, trace.Labels{Agent: p.label}, n)
}

// loop records f as one span.
func (r *runner) loop(ctx context.Context, name string, f func(context.Context) error) error {
	ctx, span := trace.Start(ctx, name, trace.Internal)
	span.Text(trace.TargetAgent, r.peer.opts.Name)
	err := f(ctx)
	if reason := reasonOf(err); reason != "" && !r.done {
		span.Fail(reason)
	}
	span.End()
	return err
}
