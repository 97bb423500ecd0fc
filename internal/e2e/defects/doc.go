// Package defects holds the tests of hostile callers, which stop reading, lie, flood, guess
// foreign ids and send requests that no honest client would send.
//
// The tests named TestDefect are defects of real servers of this protocol. Each states the
// fault of those servers and the promise of Parley. They run against the facade over TCP, on
// the memory store and on SQLite, and over gRPC where the defect exists there.
//
// # Guarantees
//
// The tests fail if a caller that does not read, or sends garbage, costs another caller an
// answer, an event or a task; if a caller can detect a task of another caller; if an error
// contains more than its public text; or if a refused request leaves a trace in the store.
//
// # Non-guarantees
//
// There is no flood from many machines, and package crash tests crashes.
//
// # Concurrency
//
// Each test has a hub of its own, except that the cases of one table share one. The test that
// measures latencies runs alone.
//
// # Testing
//
// The package is tests only. It takes about half a minute with the race detector on two
// processors.
package defects
