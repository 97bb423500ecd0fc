package httpfront

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// observed is the data that is recorded when an exchange has ended.
type observed struct {
	// began is zero if nothing is recorded.
	began time.Time
	span  trace.Span
	// agent is the agent of the call, as far as the hub knows it.
	agent task.Agent
	// reason is the reason why the exchange failed; empty if it did not.
	reason string
}

// observe reads the trace ids of the request, and starts recording it.
func (x *exchange) observe() {
	params := x.caller.Params
	if len(params) == 0 && !trace.On() {
		return
	}
	ctx, ids := x.r.Context(), trace.HeaderIDs(params)
	if ids != (trace.IDs{}) {
		trace.Echo(x.w.Header(), ids)
		ctx = trace.WithIDs(ctx, ids)
	}
	x.record(trace.Extract(ctx, params))
}

// record starts the span of the request, and makes ctx the context of the request.
func (x *exchange) record(ctx context.Context) {
	if trace.On() {
		x.seen.began = time.Now()
		ctx, x.seen.span = trace.Start(ctx, "request", trace.Server)
		if x.seen.span.On() {
			x.caller.Params = trace.Store(ctx, x.caller.Params)
		}
	}
	if ctx != x.r.Context() {
		x.r = x.r.WithContext(ctx)
	}
}

// adopt applies the ids that a message names.
func (x *exchange) adopt(r *op.Send) {
	if r.IDs == (trace.IDs{}) {
		return
	}
	ids := x.caller.Adopt(r.IDs)
	trace.Echo(x.w.Header(), ids)
	x.r = x.r.WithContext(trace.WithIDs(x.r.Context(), ids))
	x.seen.span.Text(trace.CorrelationID, ids.Correlation)
	x.seen.span.Text(trace.SessionID, ids.Session)
}

// about records the task of the answer.
func (x *exchange) about(h *task.Head) {
	x.seen.agent = h.Agent
	x.seen.span.Text(trace.TaskID, string(h.ID))
	x.seen.span.Text(trace.ContextID, h.ContextID)
}

// streamed records how many events were sent to the reader of a stream.
func (x *exchange) streamed(events int) {
	if x.seen.began.IsZero() {
		return
	}
	x.seen.span.Int(trace.Events, events)
	l := x.labels()
	trace.Count(x.r.Context(), trace.ServedEvents, trace.Labels{Agent: l.Agent, Protocol: l.Protocol, Transport: l.Transport}, events)
}

// conclude ends the recording that observe has started.
func (x *exchange) conclude() {
	if x.seen.began.IsZero() {
		return
	}
	took := time.Since(x.seen.began)
	l := x.labels()
	trace.Served(x.r.Context(), l, took)
	s := x.seen.span
	if !s.On() {
		return
	}
	if l.Operation != "" {
		s.Rename(l.Operation)
	}
	s.Label(l)
	s.Text(trace.Grade, trace.GradeOf(took))
	if l.Reason != "" {
		s.Fail(l.Reason)
	}
	s.End()
}

// labels returns the labels under which the exchange is counted.
func (x *exchange) labels() trace.Labels {
	l := trace.Labels{
		Agent: string(x.seen.agent), Protocol: x.shape.String(), Version: dialect.Of(x.shape).Version,
		Transport: "http+json", Reason: x.seen.reason,
	}
	o := x.operation
	switch {
	case x.extra != nil:
		l.Protocol, l.Version = "guest", ""
	case x.route.rpc:
		l.Transport = "jsonrpc"
	case o == 0:
		o = x.pathOperation()
	}
	if o != 0 {
		l.Operation = o.String()
	}
	return l
}
