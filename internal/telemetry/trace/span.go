package trace

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// Kind is the side of a hop that a span represents.
type Kind = oteltrace.SpanKind

// The kinds of spans.
const (
	Server   = oteltrace.SpanKindServer
	Client   = oteltrace.SpanKindClient
	Internal = oteltrace.SpanKindInternal
)

// The names of attributes. Those of the first group are for spans only, because their values
// are unbounded; dashboards use these names.
const (
	TaskID        = "task_id"
	ContextID     = "context_id"
	CorrelationID = "correlation_id"
	SessionID     = "session_id"
	Round         = "round"
	Attempt       = "attempt"
	Events        = "events"
	State         = "state"

	TargetAgent = "target_agent"
	Skill       = "skill"
	Operation   = "operation"
	Protocol    = "protocol"
	Version     = "a2a_version"
	Transport   = "transport"
	Grade       = "latency_grade"
	Outcome     = "outcome"
	Reason      = "reason"
)

// Slow is the duration above which work counts as slow.
const Slow = 5 * time.Second

// GradeOf returns the latency grade of a duration: "fast" or "slow".
func GradeOf(took time.Duration) string {
	if took > Slow {
		return "slow"
	}
	return "fast"
}

// Span is the recording of a piece of work. The zero Span records nothing.
type Span struct{ s oteltrace.Span }

// Start starts a span below that of ctx, and returns a context for the work inside it. Without
// a provider it returns ctx and the zero Span.
func Start(ctx context.Context, name string, kind Kind) (context.Context, Span) {
	t := tracer()
	if t == nil {
		return ctx, Span{}
	}
	ctx, s := t.Start(ctx, name, oteltrace.WithSpanKind(kind))
	s.SetAttributes(attributes(ctx)...)
	return ctx, Span{s}
}

// attributes returns the attributes that every span below ctx has.
func attributes(ctx context.Context) []attribute.KeyValue {
	ids := IDsFrom(ctx)
	var kvs []attribute.KeyValue
	for _, a := range [...]struct{ key, value string }{
		{TaskID, ids.Task}, {ContextID, ids.Context}, {CorrelationID, ids.Correlation}, {SessionID, ids.Session},
	} {
		if a.value != "" {
			kvs = append(kvs, attribute.String(a.key, a.value))
		}
	}
	return kvs
}

// Below returns ctx with the span as parent of the work inside it. The span may have started
// elsewhere.
func (s Span) Below(ctx context.Context) context.Context {
	if s.s == nil {
		return ctx
	}
	return oteltrace.ContextWithSpan(ctx, s.s)
}

// On reports whether the span is recorded.
func (s Span) On() bool { return s.s != nil && s.s.IsRecording() }

// Text sets an attribute, unless it is empty.
func (s Span) Text(key, value string) {
	if s.s != nil && value != "" {
		s.s.SetAttributes(attribute.String(key, value))
	}
}

// Label sets the attributes that metrics have as well, except the reason and the grade.
func (s Span) Label(l Labels) {
	if s.s == nil {
		return
	}
	l.Reason, l.Grade = "", ""
	set := l.set()
	s.s.SetAttributes(set.ToSlice()...)
}

// Int sets an attribute.
func (s Span) Int(key string, value int) {
	if s.s != nil {
		s.s.SetAttributes(attribute.Int(key, value))
	}
}

// Rename gives the span another name.
func (s Span) Rename(name string) {
	if s.s != nil {
		s.s.SetName(name)
	}
}

// Fail marks the work as failed, with a reason that is safe to publish.
func (s Span) Fail(reason string) {
	if s.s != nil {
		s.s.SetStatus(codes.Error, reason)
		s.s.SetAttributes(attribute.String(Reason, reason))
	}
}

// End ends the span. It may be called again.
func (s Span) End() {
	if s.s != nil {
		s.s.End()
	}
}
