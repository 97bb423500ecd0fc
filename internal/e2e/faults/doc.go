// Package faults holds the tests of a task that another hub performs, while something
// goes wrong: the hub is killed, the other hub is killed, or what is between them drops,
// delays, truncates or repeats what they say.
//
// Both hubs are the real binary on a data folder. Between them is a proxy that knows how
// far a task is, and does one wrong thing at one step of it: when the message arrives,
// when it was accepted and nobody has heard so, in the middle of the stream, at a question
// or its answer, at a cancellation, at the end.
//
// # Guarantees
//
// The tests fail if a task does not end; if what the caller reads has a gap, lacks a
// chunk or has one twice; if the two hubs disagree about how the task ended; or if the
// other hub was asked twice.
//
// # What it does not promise
//
// A task may fail where the design says so: the other hub interrupts runs when it is
// killed, and says that. Each run says in the log of the test how it ended.
//
// # Testing
//
// PARLEY_FAULTS sets the number of runs; the default suits every run of the tests.
package faults
