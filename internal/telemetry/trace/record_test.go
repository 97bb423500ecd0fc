package trace

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	nometric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"
	notrace "go.opentelemetry.io/otel/trace/noop"
)

// work records everything that the hub records for a call.
func work(ctx context.Context) {
	ctx, s := Start(ctx, "work", Internal)
	s.Text(TaskID, "t")
	s.Int(Attempt, 1)
	s.Rename("w")
	s.Label(Labels{Agent: "a"})
	s.Fail("no")
	s.End()
	l := Labels{Agent: "a", Operation: "SendMessage"}
	Served(ctx, l, time.Millisecond)
	Invoked(ctx, l, time.Millisecond)
	Requested(ctx, l, time.Millisecond)
	Count(ctx, PollingAttempts, l, 1)
	Committed(1, time.Millisecond, "")
	Extract(ctx, nil)
	Clean(nil)
}

// TestAllocations does not run in parallel with other tests, because allocations and providers
// are those of the whole process. Nothing may be allocated without a provider, nor after one
// was removed.
func TestAllocations(t *testing.T) {
	ctx := t.Context()
	check := func(when string) {
		t.Helper()
		if On() {
			t.Errorf("%s somebody records", when)
		}
		if got := testing.AllocsPerRun(100, func() { work(ctx) }); got != 0 {
			t.Errorf("%s a call allocates %v objects, want none", when, got)
		}
	}
	check("without a provider")
	install(t)
	if !On() || !Tracing() || !Metering() {
		t.Error("with providers nobody records")
	}
	uninstall()
	check("after providers were taken away")
}

// install sets global providers that keep everything in memory.
func install(t *testing.T) (*tracetest.InMemoryExporter, *sdkmetric.ManualReader) {
	t.Helper()
	spans, reader := tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithCardinalityLimit(0)))
	t.Cleanup(uninstall)
	return spans, reader
}

func uninstall() {
	otel.SetTracerProvider(notrace.NewTracerProvider())
	otel.SetMeterProvider(nometric.NewMeterProvider())
}

func TestSpans(t *testing.T) {
	spans, _ := install(t)
	ctx := WithIDs(Extract(t.Context(), map[string][]string{traceparent: {sampled}}), IDs{Task: "t", Correlation: "c"})
	ctx, outer := Start(ctx, "outer", Server)
	inner, s := Start(ctx, "inner", Client)
	if !s.On() || Environ(inner)[0] == Environ(ctx)[0] {
		t.Error("the inner span is not what is passed on")
	}
	s.Text("empty", "")
	s.Text(Skill, "x")
	s.Fail("TOO_BAD")
	s.End()
	outer.Rename("renamed")
	outer.Label(Labels{Agent: "a", Reason: "left out", Grade: "left out"})
	outer.End()
	got := map[string]string{}
	for _, s := range spans.GetSpans() {
		var b strings.Builder
		for _, kv := range s.Attributes {
			b.WriteString(" " + string(kv.Key) + "=" + kv.Value.String())
		}
		if s.Status.Code == codes.Error {
			b.WriteString(" !" + s.Status.Description)
		}
		got[s.Name+" "+s.SpanKind.String()+" "+s.SpanContext.TraceID().String()] = b.String()
	}
	want := map[string]string{
		"renamed server " + traceID: " task_id=t correlation_id=c target_agent=a",
		"inner client " + traceID:   " task_id=t correlation_id=c skill=x reason=TOO_BAD !TOO_BAD",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans mismatch (-want +got):\n%s", diff)
	}
}

// series returns the label sets of a metric with their values; for a histogram, the number of
// recordings.
func series(t *testing.T, reader *sdkmetric.ManualReader, name string) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					got[p.Attributes.Encoded(encoder)] = p.Value
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					got[p.Attributes.Encoded(encoder)] = int64(p.Count)
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					got[p.Attributes.Encoded(encoder)] = int64(p.Count)
				}
			}
		}
	}
	return got
}

func TestMetrics(t *testing.T) {
	_, reader := install(t)
	ctx := t.Context()
	l := Labels{Agent: "a", Skill: "s", Operation: "SendMessage", Protocol: "v1.0", Transport: "grpc", Outcome: "o"}
	Invoked(ctx, l, time.Second)
	l.Reason = "failed"
	Invoked(ctx, l, 6*time.Second)
	Count(ctx, StreamingEvents, Labels{Agent: "a"}, 3)
	Count(ctx, StreamingEvents, Labels{Agent: "a"}, 0)
	Committed(5, time.Millisecond, "")
	Committed(2, time.Millisecond, "full")
	const all = "operation=SendMessage,outcome=o,protocol=v1.0,"
	for name, want := range map[string]map[string]int64{
		"parley.a2a.requests": {
			"latency_grade=fast," + all + "skill=s,target_agent=a,transport=grpc": 1,
			"latency_grade=slow," + all + "skill=s,target_agent=a,transport=grpc": 1,
		},
		"parley.a2a.failures": {
			"latency_grade=slow," + all + "reason=failed,skill=s,target_agent=a,transport=grpc": 1,
		},
		"parley.a2a.duration":          {"operation=SendMessage,protocol=v1.0,target_agent=a,transport=grpc": 2},
		"parley.a2a.streaming_events":  {"target_agent=a": 3},
		"parley.store.changes":         {"outcome=stored": 5, "outcome=failed,reason=full": 2},
		"parley.store.commit.duration": {"outcome=stored": 1, "outcome=failed": 1},
		"parley.store.batch":           {"outcome=stored": 1, "outcome=failed": 1},
	} {
		if diff := cmp.Diff(want, series(t, reader, name)); diff != "" {
			t.Errorf("%s mismatch (-want +got):\n%s", name, diff)
		}
	}
}

// TestLabelSetsAreBounded checks that the rows of a metric are limited for arbitrary labels.
func TestLabelSetsAreBounded(t *testing.T) {
	_, reader := install(t)
	for i := range maxSets + 500 {
		Count(t.Context(), PollingAttempts, Labels{Agent: strconv.Itoa(i)}, 1)
	}
	got := series(t, reader, "parley.a2a.polling_attempts")
	if len(got) > maxSets+1 || got["otel.metric.overflow=true"] == 0 {
		t.Errorf("%d label sets, %d beside them, want at most %d", len(got), got["otel.metric.overflow=true"], maxSets)
	}
}

func TestLogHandler(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	logger := slog.New(LogHandler(slog.NewTextHandler(&b, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
	ctx := WithIDs(Extract(t.Context(), map[string][]string{traceparent: {sampled}}), IDs{Correlation: "c"})
	logger.InfoContext(ctx, "one")
	logger.With("a", 1).InfoContext(t.Context(), "two")
	logger.WithGroup("g").InfoContext(WithIDs(t.Context(), IDs{Correlation: "c"}), "three")
	logger.Info("four")
	want := "level=INFO msg=one trace_id=" + traceID + " span_id=b7ad6b7169203331 correlation_id=c\n" +
		"level=INFO msg=two a=1\n" +
		"level=INFO msg=three g.correlation_id=c\n" +
		"level=INFO msg=four\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("log mismatch (-want +got):\n%s", diff)
	}
}

// odd is a provider of an incomparable type.
type odd struct {
	oteltrace.TracerProvider
	_ []int
}

func TestProvidersThatCannotBeCompared(t *testing.T) {
	t.Parallel()
	a, b := odd{}, odd{}
	if !same(a, b) || same(a, notrace.TracerProvider{}) {
		t.Error("two values of a type that cannot be compared count as one")
	}
	if placeholder(a) || !placeholder(start) {
		t.Errorf("placeholder: %v and %v, want false and true", placeholder(a), placeholder(start))
	}
}

// start is the provider of a process before one is installed.
var start = otel.GetTracerProvider()

// encoder formats label sets for people.
var encoder = attribute.DefaultEncoder()
