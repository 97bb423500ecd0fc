package rockbot

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/telemetry/export"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// telemetryKeys are the keys of the part in telemetry.
type telemetryKeys struct {
	// RockBotNames also exports the metrics of calls under the names rockbot.a2a.*, and adds
	// RockBot's names and ids to spans.
	RockBotNames bool `yaml:"rockbot_names"`
}

const telemetrySchema = `"rockbot_names": {"$ref": "#/$defs/switch", "description": "Also give the metrics of calls the names rockbot.a2a.*, and spans the names and ids that RockBot has for them."}`

// names is a server.TelemetryNames.
func names(c *config.Config) *export.Names {
	if !config.Get[telemetryKeys](&c.Telemetry).RockBotNames {
		return nil
	}
	return &export.Names{Metrics: prefix, Spans: func(x sdktrace.SpanExporter) sdktrace.SpanExporter { return spanExporter{x} }}
}

// prefix is that of the names of RockBot's metrics and spans.
const prefix = "rockbot.a2a."

// ownSpans are the spans that RockBot also has, under the prefix prefix.
var ownSpans = []string{"poll_loop", "input_required_loop", "input_required_round"}

// spanExporter gives spans the names and the ids that dashboards of RockBot use. It is safe
// for concurrent use if the exporter behind it is.
type spanExporter struct{ sdktrace.SpanExporter }

// ExportSpans implements sdktrace.SpanExporter.
func (x spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	named := make([]sdktrace.ReadOnlySpan, len(spans))
	for i, s := range spans {
		named[i] = span{s}
	}
	return x.SpanExporter.ExportSpans(ctx, named)
}

// span is a span in RockBot's form.
type span struct{ sdktrace.ReadOnlySpan }

func (s span) known() bool { return slices.Contains(ownSpans, s.ReadOnlySpan.Name()) }

// Name returns the name of the span.
func (s span) Name() string {
	if s.known() {
		return prefix + s.ReadOnlySpan.Name()
	}
	return s.ReadOnlySpan.Name()
}

// Attributes returns the attributes of the span. As in RockBot, a missing correlation id is
// replaced by the id of the task, and a missing session id by that of the context.
func (s span) Attributes() []attribute.KeyValue {
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
				add(prefix+key, value)
			}
		}
	}
	return all
}
