// Package export is where spans and metrics leave the hub: the SDK of OpenTelemetry,
// a page for Prometheus, and OTLP over HTTP. Only the command has it; libraries record
// through internal/telemetry/trace, and programs that embed a hub bring an SDK of their own.
//
// [Start] installs global providers. What it does is configured by the standard
// variables of OpenTelemetry, of which the SDK reads most itself:
//
//	OTEL_SDK_DISABLED             true switches everything off, the page included
//	OTEL_EXPORTER_OTLP_ENDPOINT   where spans and metrics are sent; without it (or its
//	                              variants for traces and metrics) nothing is sent
//	OTEL_TRACES_EXPORTER          otlp or none
//	OTEL_METRICS_EXPORTER         otlp, prometheus or none; prometheus is the page
//	OTEL_EXPORTER_OTLP_PROTOCOL   http/protobuf, the only one that is there
//	OTEL_SERVICE_NAME             parley, if nothing else is said
//	OTEL_TRACES_SAMPLER           with OTEL_TRACES_SAMPLER_ARG
//
// and those for headers, timeouts, certificates, batches and intervals.
//
// # Guarantees
//
// A collector that does not answer costs spans and metrics and nothing else: queues are
// bounded, nobody waits for them, and its errors are logged once a minute at most.
// Shutdown sends what is left, within the time that its context allows.
//
// A value of a variable that is not known here is told in the log and ignored.
//
// # What it does not promise
//
// Spans that are recorded faster than they are sent are dropped.
//
// # Concurrency
//
// Telemetry is safe for concurrent use. Providers are of the whole process: a second
// Start takes the place of the first.
//
// # Testing
//
// Tests send to a collector in process, and read the page with Prometheus' own parser.
package export
