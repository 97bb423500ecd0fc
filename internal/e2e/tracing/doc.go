// Package tracing tests that one trace covers every hop: a caller, a hub, a program that it
// runs, another hub, a webhook, and the same hub after a restart.
//
// # Overview
//
// The hubs run in the process, with the OpenTelemetry SDK and its exporters in memory. Each
// test searches for the spans of its own trace, whose id it has generated.
//
// # Guarantees
//
// The tests fail if a hop is missing from a trace or has the wrong parent, if ids of a caller
// get lost on the way, and if a value chosen by a caller becomes a label of a metric.
//
// # Non-guarantees
//
// The export of spans is tested with internal/telemetry/export.
//
// # Concurrency
//
// The providers belong to the process; tests share them and run concurrently.
package tracing
