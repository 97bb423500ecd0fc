// Package hub connects the parts of a hub and runs them: the engine, the HTTP front, webhooks,
// the recorder, metrics, and additional services. The facade parley.Hub passes the parts that
// an embedder has set. Package server passes those that a configuration names.
//
// # Guarantees
//
// Callers get answers and webhooks get notifications until the last task has ended. A late
// service also runs until then. The first error of a service stops the hub, and Run returns it.
//
// # Non-guarantees
//
// The parts belong to the caller: Run does not close them.
//
// # Concurrency
//
// Call New, then Mount. The other methods may then be called by several goroutines. Call Run
// once.
//
// # Testing
//
// A Hub needs no listener: Handler works with net/http/httptest.
package hub
