// Package export sends spans and metrics out of the hub: through the SDK of OpenTelemetry, a
// page for Prometheus, and OTLP over HTTP. Only the command uses it; libraries record through
// internal/telemetry/trace, and programs that embed a hub use an SDK of their own.
//
// [Start] installs global providers. The standard variables of OpenTelemetry configure it; the
// SDK reads most of them itself:
//
//	OTEL_SDK_DISABLED             true disables everything, including the page
//	OTEL_EXPORTER_OTLP_ENDPOINT   where spans and metrics are sent; without it (or its
//	                              variants for traces and metrics) nothing is sent
//	OTEL_TRACES_EXPORTER          otlp or none
//	OTEL_METRICS_EXPORTER         otlp, prometheus or none; prometheus is the page
//	OTEL_EXPORTER_OTLP_PROTOCOL   http/protobuf, the only supported one
//	OTEL_SERVICE_NAME             the default is parley
//	OTEL_TRACES_SAMPLER           with OTEL_TRACES_SAMPLER_ARG
//
// and those for headers, timeouts, certificates, batches and intervals.
//
// # Guarantees
//
// An unresponsive collector costs spans and metrics and nothing else: queues are bounded, no
// caller waits for them, and its errors are logged once a minute at most. Shutdown sends the
// remaining data, within the time that its context allows.
//
// An unknown value of a variable is logged and ignored.
//
// # Non-guarantees
//
// Spans that are recorded faster than they are sent are dropped.
//
// # Concurrency
//
// Telemetry is safe for concurrent use. Providers belong to the whole process: a second Start
// replaces the first.
package export
