// Package memorytest is the suite that every store of notes and of turns passes.
// [TestNotes] and [TestTurns] run it against stores that the caller makes, which are
// empty. Third parties may run it against theirs.
//
// # Guarantees
//
// A store that passes does what package memory says of every store. Random operations are
// compared with a simple model, whose answers are worked out from a list.
//
// # What it does not promise
//
// It says nothing about what survives the end of a process: whoever promises that has a
// test of its own for it.
//
// # Concurrency
//
// The tests call open once for each of their parts, which run in parallel.
//
// # Testing
//
// The suite is tested by the stores that pass it, and by one with mistakes.
package memorytest
