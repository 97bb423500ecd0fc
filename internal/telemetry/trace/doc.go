// Package trace records the hub's work for monitoring: spans, counters, durations, and the
// headers that carry one trace through every hop. It uses the API of OpenTelemetry and nothing
// of its SDK.
//
// # Overview
//
// Spans begin with [Start] and go to the global tracer provider; [Served], [Invoked],
// [Requested] and [Count] go to the global meter provider. A program that installs providers
// (internal/telemetry/export does it for the command) gets the data of all hubs of its process.
//
// [Extract] reads the trace context of the W3C (traceparent, tracestate) and the ids
// X-Correlation-Id and X-Parent-Id; [Inject], [Store] and [Environ] write them.
//
//	Clean(params)                  removes invalid values of the caller
//	ctx = Extract(ctx, params)     joins the caller's trace
//	ctx, span := Start(ctx, "invoke", Internal)
//	defer span.End()
//	Inject(ctx, request.Header)    passes the trace to the next hop
//
// # Guarantees
//
// Without a provider, nothing is recorded and nothing is allocated: Start returns its context,
// and a zero [Span] does nothing. The caller's trace context is still passed on unchanged, so
// that a hub that records nothing does not split a trace.
//
// Ids of tasks, contexts, callers and sessions are attributes of spans and never of metrics.
// The label sets of metrics are limited; further ones are counted together, under
// otel.metric.overflow.
//
// Invalid trace contexts and ids are ignored (Trace Context §3.2): a malformed traceparent, a
// long or unprintable id.
//
// # Non-guarantees
//
// A span that begins before a provider is installed is not recorded.
//
// # Concurrency
//
// All functions are safe for concurrent use. A Span belongs to the goroutine that started it
// until it ends.
//
// # Testing
//
// The global providers belong to the process. Tests install one of the SDK's in memory once, in
// TestMain, and select the spans of their own trace.
package trace
