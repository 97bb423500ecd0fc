package export

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	promexporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// maxSets is how many label sets a metric may have. It is above the limit of
// internal/telemetry/trace.
const maxSets = 4000

// startTraces installs a provider of spans if they are sent.
func (t *Telemetry) startTraces(ctx context.Context, c *Config, w settings, res *resource.Resource) error {
	if !w.traces {
		return nil
	}
	otlp, err := otlptracehttp.New(ctx)
	if err != nil {
		return fmt.Errorf("OTLP: %w", err)
	}
	var exporter sdktrace.SpanExporter = otlp
	if c.Names != nil {
		exporter = c.Names.Spans(otlp)
	}
	t.tracer = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(res))
	otel.SetTracerProvider(t.tracer)
	return nil
}

// startMetrics installs a provider of metrics if they are sent or shown.
func (t *Telemetry) startMetrics(ctx context.Context, c *Config, w settings, res *resource.Resource) error {
	options := []sdkmetric.Option{sdkmetric.WithResource(res), sdkmetric.WithCardinalityLimit(maxSets)}
	wanted := false
	if c.Metrics && !w.noPage {
		reader, page, err := newPage(c.Logger)
		if err != nil {
			return err
		}
		t.page, wanted = page, true
		options = append(options, sdkmetric.WithReader(reader))
	}
	if w.metrics {
		exporter, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return fmt.Errorf("OTLP: %w", err)
		}
		wanted = true
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	}
	if !wanted {
		return nil
	}
	if c.Names != nil {
		options = append(options, sdkmetric.WithView(asItIs, c.Names.view))
	}
	t.metrics = sdkmetric.NewMeterProvider(options...)
	otel.SetMeterProvider(t.metrics)
	return nil
}

// newPage creates the reader for Prometheus and the page with its metrics, together with those
// of the Go runtime and the process.
func newPage(logger *slog.Logger) (sdkmetric.Reader, http.Handler, error) {
	registry := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := registry.Register(c); err != nil {
			return nil, nil, fmt.Errorf("register collector: %w", err)
		}
	}
	reader, err := promexporter.New(promexporter.WithRegisterer(registry), promexporter.WithoutScopeInfo())
	if err != nil {
		return nil, nil, err
	}
	return reader, promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes, Timeout: scrapeTime, EnableOpenMetrics: true,
	}), nil
}

// Limits of requests for the page.
const (
	maxScrapes = 8
	scrapeTime = 10 * time.Second
)

// ownNames is the prefix of the metrics of calls.
const ownNames = "parley.a2a."

// asItIs keeps the own name of a metric that has another one as well: an instrument that matches a view is
// exported by its views only.
func asItIs(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
	return sdkmetric.Stream{Name: i.Name, Description: i.Description, Unit: i.Unit}, strings.HasPrefix(i.Name, ownNames)
}

// view exports the metrics of calls under the other names.
func (n *Names) view(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
	name, ok := strings.CutPrefix(i.Name, ownNames)
	return sdkmetric.Stream{Name: n.Metrics + name, Description: i.Description, Unit: i.Unit}, ok
}
