// Package hub puts the parts of a hub together and runs them: the engine, the HTTP front,
// webhooks, the recorder, measurements, and services beside them. The facade parley.Hub
// gives it the parts that an embedder has, package server those that a configuration names.
//
// # Guarantees
//
// Callers get answers until the last task has ended, and webhooks are notified as long.
// A late service runs until then as well. The first error of a service stops the hub, and
// is what Run returns.
//
// # What it does not promise
//
// The parts are the caller's: Run does not close them.
//
// # Concurrency
//
// New, then Mount, then the other methods, by several goroutines. Run once.
//
// # Testing
//
// A Hub needs no listener: Handler works with net/http/httptest.
package hub
