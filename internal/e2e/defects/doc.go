// Package defects holds the tests of a hostile caller: somebody who stops reading,
// lies, floods, guesses foreign ids and sends what no client would send.
//
// The tests named TestDefect are defects that servers of this protocol really had.
// Each says what went wrong there and what Parley promises instead. They run
// against the facade over TCP, on the memory store and on SQLite, and over gRPC
// where the defect exists there.
//
// # Guarantees
//
// The tests fail if a caller who does not read, or sends rubbish, costs anybody else
// an answer, an event or a task; if a caller learns of a task that is not its own;
// if an error tells more than its words for callers; or if what was refused leaves a
// trace in the store.
//
// # What it does not promise
//
// Nobody is flooded from many machines here, and crashes are the business of package
// crash.
//
// # Concurrency
//
// Each test has a hub of its own, except that the cases of one table share one. The
// test that measures latencies runs alone.
//
// # Testing
//
// The package is tests only. It takes about half a minute with the race detector on
// two processors.
package defects
