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

// Config says what leaves the hub. The zero Config is what the variables say, without a
// page for Prometheus.
type Config struct {
	// Metrics makes the page for Prometheus.
	Metrics bool
	// RockBotNames gives the metrics of calls the names rockbot.a2a.* as well, and the spans
	// that RockBot has its names and ids.
	RockBotNames bool
	// Version is that of the program.
	Version string
	// Logger receives what is wrong with variables and with collectors. It is required.
	Logger *slog.Logger
	// Getenv looks variables up; nil means those of the process, of which the SDK reads
	// more.
	Getenv func(string) string
}

// Telemetry is what was started. A nil one is nothing, and can be shut down.
type Telemetry struct {
	page    http.Handler
	tracer  *sdktrace.TracerProvider // nil if no spans are sent
	metrics *sdkmetric.MeterProvider // nil if nobody wants metrics
}

// Start installs the providers that c and the variables ask for. ctx is for making
// connections; Shutdown ends them.
func Start(ctx context.Context, c Config) (*Telemetry, error) {
	env := environment{c.Getenv, c.Logger}.read()
	if env.disabled {
		return &Telemetry{}, nil
	}
	res, err := identity(ctx, c.Version)
	if err != nil {
		// What could be found out is there; the rest is a variable that cannot be read.
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
	otel.SetErrorHandler(&complaints{logger: c.Logger})
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	return t, nil
}

// identity describes the process. Variables win.
func identity(ctx context.Context, version string) (*resource.Resource, error) {
	return resource.New(ctx,
		resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", "parley"), attribute.String("service.version", version)),
		resource.WithFromEnv(),
	)
}

// Page returns the page for Prometheus; nil if there is none.
func (t *Telemetry) Page() http.Handler {
	if t == nil {
		return nil
	}
	return t.page
}

// Shutdown sends what is left, until ctx ends, and takes the providers away.
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
