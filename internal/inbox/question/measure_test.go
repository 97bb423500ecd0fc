package question_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/op"
)

// Telemetry of the hubs of all tests. A test looks for the spans of its own trace and the
// counters of its own agents.
var (
	spans  = tracetest.NewInMemoryExporter()
	meters = sdkmetric.NewManualReader()
)

// measure installs global providers that keep everything in memory.
func measure() {
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(meters), sdkmetric.WithCardinalityLimit(0)))
}

// tracer is the trace context of a caller.
type tracer struct{ trace, span string }

func newTracer() *tracer {
	return &tracer{fmt.Sprintf("%016x%016x", rand.Uint64()|1, rand.Uint64()), fmt.Sprintf("%016x", rand.Uint64()|1)}
}

// caller returns the caller alice with this trace context.
func (tr *tracer) caller() *op.Caller {
	return &op.Caller{Principal: &auth.Principal{ID: "alice"}, Params: map[string][]string{
		"traceparent": {"00-" + tr.trace + "-" + tr.span + "-01"}, "x-correlation-id": {"c-" + tr.span},
	}}
}

// named returns the spans of the trace with a name, ordered by start.
func (tr *tracer) named(name string) []tracetest.SpanStub {
	var found []tracetest.SpanStub
	for _, s := range spans.GetSpans() {
		if s.Name == name && s.SpanContext.TraceID().String() == tr.trace {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	return found
}

// of returns the value of an attribute of a span.
func of(s *tracetest.SpanStub, key string) string {
	for _, kv := range s.Attributes {
		if string(kv.Key) == key {
			return kv.Value.String()
		}
	}
	return ""
}

// counted returns a counter of an agent, for a reason if it is not empty.
func counted(t *testing.T, name, agent, reason string) (n int64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := meters.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			if !ok || m.Name != name {
				continue
			}
			for _, p := range sum.DataPoints {
				subject, _ := p.Attributes.Value(attribute.Key("target_agent"))
				why, _ := p.Attributes.Value(attribute.Key("reason"))
				if subject.AsString() == agent && why.AsString() == reason {
					n += p.Value
				}
			}
		}
	}
	return n
}

// looped checks the spans of consecutive questions: one loop below the caller's span, with the
// rounds in it.
func (tr *tracer) looped(t *testing.T, rounds int, policy, outcome string) {
	t.Helper()
	loops, all := tr.named("input_required_loop"), tr.named("input_required_round")
	if len(loops) != 1 || len(all) != rounds {
		t.Fatalf("%d loops and %d rounds, want one and %d", len(loops), len(all), rounds)
	}
	loop := &loops[0]
	if loop.Parent.SpanID().String() != tr.span || of(loop, "outcome") != outcome || of(loop, "round") != fmt.Sprint(rounds) || of(loop, "task_id") == "" ||
		of(loop, "context_id") == "" || of(loop, "correlation_id") != "c-"+tr.span || of(loop, "target_agent") == "" {
		t.Errorf("the loop is below %v, with %v", loop.Parent.SpanID(), loop.Attributes)
	}
	for i := range all {
		r := &all[i]
		if r.Parent.SpanID() != loop.SpanContext.SpanID() || of(r, "round") != fmt.Sprint(i+1) || of(r, "policy") != policy || of(r, "task_id") != of(loop, "task_id") {
			t.Errorf("round %d is below %v, with %v", i+1, r.Parent.SpanID(), r.Attributes)
		}
	}
}
