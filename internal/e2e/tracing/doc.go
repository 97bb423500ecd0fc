// Package tracing holds the tests of one trace through every hop: a caller, a hub, a
// program that it runs, another hub, a webhook, and the same hub after a restart.
//
// # What it is
//
// Hubs in process, with the SDK of OpenTelemetry in memory behind them. Each test looks
// for the spans of its own trace, whose id it has made up.
//
// # Guarantees
//
// The tests fail if a hop is missing from a trace or hangs below the wrong one, if ids of
// a caller get lost on the way, and if what a caller chooses becomes a label of a metric.
//
// # What it does not promise
//
// How spans leave the process is tested with internal/telemetry/export.
//
// # Concurrency
//
// The providers belong to the process; tests share them and run side by side.
//
// # Testing
//
// The package is tests only.
package tracing
