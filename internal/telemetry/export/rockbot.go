package export

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// rockBotSpans are the spans that RockBot also has, under the prefix rockBotNames.
var rockBotSpans = []string{"poll_loop", "input_required_loop", "input_required_round"}

// rockBotExporter gives spans the names and the ids that dashboards of RockBot use. It is safe
// for concurrent use if the exporter behind it is.
type rockBotExporter struct{ sdktrace.SpanExporter }

// ExportSpans implements sdktrace.SpanExporter.
func (x rockBotExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	named := make([]sdktrace.ReadOnlySpan, len(spans))
	for i, s := range spans {
		named[i] = rockBotSpan{s}
	}
	return x.SpanExporter.ExportSpans(ctx, named)
}

// rockBotSpan is a span in RockBot's form.
type rockBotSpan struct{ sdktrace.ReadOnlySpan }

func (s rockBotSpan) known() bool { return slices.Contains(rockBotSpans, s.ReadOnlySpan.Name()) }

// Name returns the name of the span.
func (s rockBotSpan) Name() string {
	if s.known() {
		return rockBotNames + s.ReadOnlySpan.Name()
	}
	return s.ReadOnlySpan.Name()
}

// Attributes returns the attributes of the span. As in RockBot, a missing correlation id is
// replaced by the id of the task, and a missing session id by that of the context.
func (s rockBotSpan) Attributes() []attribute.KeyValue {
	own := s.ReadOnlySpan.Attributes()
	values := make(map[attribute.Key]attribute.Value, len(own))
	for _, kv := range own {
		values[kv.Key] = kv.Value
	}
	all := slices.Clone(own)
	add := func(key string, value attribute.Value) {
		values[attribute.Key(key)] = value
		all = append(all, attribute.KeyValue{Key: attribute.Key(key), Value: value})
	}
	for key, from := range map[string]string{trace.CorrelationID: trace.TaskID, trace.SessionID: trace.ContextID} {
		value, there := values[attribute.Key(from)]
		if _, given := values[attribute.Key(key)]; there && !given {
			add(key, value)
		}
	}
	if s.known() {
		for _, key := range []string{trace.TaskID, trace.ContextID, trace.CorrelationID, trace.SessionID, trace.TargetAgent} {
			if value, there := values[attribute.Key(key)]; there {
				add(rockBotNames+key, value)
			}
		}
	}
	return all
}
