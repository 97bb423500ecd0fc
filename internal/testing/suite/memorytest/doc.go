// Package memorytest is the conformance suite for stores of notes and of turns. [TestNotes] and
// [TestTurns] run it against empty stores created by their caller. Third parties may run it
// against their own stores.
//
// # Guarantees
//
// A store that passes behaves as package memory requires. Random operations are compared with a
// simple model that computes the expected results from a list.
//
// # Non-guarantees
//
// The suite does not test durability: a store that survives the end of a process needs its own
// test for that.
package memorytest
