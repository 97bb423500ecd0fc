// Package trace is what the hub says about its work to whoever measures it: spans,
// counters, durations, and the headers by which one trace goes through every hop. It
// knows the API of OpenTelemetry and nothing of its SDK.
//
// # What it is
//
// Spans begin with [Start] and go to the global tracer provider; [Served], [Invoked],
// [Requested] and [Count] go to the global meter provider. A program that installs
// providers (internal/telemetry/export does it for the command) sees all hubs of its process.
//
// The trace context of the W3C (traceparent, tracestate) and the ids X-Correlation-Id
// and X-Parent-Id come in by [Extract] and go out by [Inject], [Store] and [Environ].
//
//	Clean(params)                  what a caller sent, bounded
//	ctx = Extract(ctx, params)     whose work this is
//	ctx, span := Start(ctx, "invoke", Internal)
//	defer span.End()
//	Inject(ctx, request.Header)    so that the next hop knows it, too
//
// # Guarantees
//
// Without a provider, nothing is recorded and nothing is allocated: Start returns its
// context, and a zero [Span] does nothing. What a caller sent still goes out as it came
// in, so that a hub that records nothing does not cut a trace in two.
//
// Ids of tasks, contexts, callers and sessions are attributes of spans and never of
// metrics. The label sets of metrics are limited; further ones count together, under
// otel.metric.overflow.
//
// What cannot be a trace context or an id is ignored (Trace Context §3.2): a malformed
// traceparent, a long or unprintable id.
//
// # What it does not promise
//
// A span that begins before a provider is installed is not recorded.
//
// # Concurrency
//
// All functions are safe for concurrent use. A Span belongs to whoever started it until
// it ends.
//
// # Testing
//
// The global providers belong to the process. Tests install one of the SDK's in memory
// once, in TestMain, and look for the spans of their own trace.
package trace
