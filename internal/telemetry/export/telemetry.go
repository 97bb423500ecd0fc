package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	nometric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	notrace "go.opentelemetry.io/otel/trace/noop"
)

// Config selects the exporters. The zero Config follows the variables, without a page for
// Prometheus.
type Config struct {
	// Metrics enables the page for Prometheus.
	Metrics bool
	// Names, if set, are used beside the own ones.
	Names *Names
	// Version is the version of the program.
	Version string
	// Logger receives errors of variables and of collectors. It is required.
	Logger *slog.Logger
	// Getenv looks variables up; nil means the variables of the process. The SDK always reads
	// those of the process.
	Getenv func(string) string
}

// Names are those of the dashboards of another system. Both fields are required.
type Names struct {
	// Metrics is the prefix of copies of the metrics of calls, such as "other.a2a.".
	Metrics string
	// Spans returns an exporter that gives spans their names and passes them to x.
	Spans func(x sdktrace.SpanExporter) sdktrace.SpanExporter
}

// Telemetry holds the started providers. A nil Telemetry has none, and can be shut down.
type Telemetry struct {
	page    http.Handler
	tracer  *sdktrace.TracerProvider // nil if no spans are sent
	metrics *sdkmetric.MeterProvider // nil if metrics are neither sent nor shown
}

// Start installs the providers that c and the variables select. ctx is for creating
// connections; Shutdown ends them.
func Start(ctx context.Context, c Config) (*Telemetry, error) {
	env := environment{c.Getenv, c.Logger}.read()
	if env.disabled {
		return &Telemetry{}, nil
	}
	// Variables of the environment take precedence.
	res, err := resource.New(ctx,
		resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", "parley"), attribute.String("service.version", c.Version)),
		resource.WithFromEnv(),
	)
	if err != nil {
		// The detected attributes are kept; the error concerns a variable that cannot be read.
		c.Logger.Warn("telemetry: the description of this process is incomplete", "error", err)
	}
	t := &Telemetry{}
	if err := t.startMetrics(ctx, &c, env, res); err != nil {
		return nil, fmt.Errorf("start metrics: %w", err)
	}
	if err := t.startTraces(ctx, &c, env, res); err != nil {
		return nil, errors.Join(fmt.Errorf("start traces: %w", err), t.Shutdown(ctx))
	}
	if t.tracer == nil && t.metrics == nil {
		return t, nil
	}
	otel.SetErrorHandler(&errorHandler{logger: c.Logger})
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	return t, nil
}

// Page returns the page for Prometheus; nil if there is none.
func (t *Telemetry) Page() http.Handler {
	if t == nil {
		return nil
	}
	return t.page
}

// Shutdown sends the remaining data, until ctx ends, and removes the providers.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	var errs []error
	if t.tracer != nil {
		if otel.GetTracerProvider() == t.tracer {
			otel.SetTracerProvider(notrace.NewTracerProvider())
		}
		errs = append(errs, t.tracer.Shutdown(ctx))
	}
	if t.metrics != nil {
		if otel.GetMeterProvider() == t.metrics {
			otel.SetMeterProvider(nometric.NewMeterProvider())
		}
		errs = append(errs, t.metrics.Shutdown(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("shut telemetry down: %w", err)
	}
	return nil
}
