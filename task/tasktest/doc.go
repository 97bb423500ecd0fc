// Package tasktest is the suite that every [task.Store] passes, and a few short
// words for tests that need tasks.
//
// [Test] checks what package task promises of a store: compare-and-set, gapless
// entries, scope by owner, lists with exact totals, the work of the hub, sweeping,
// and snapshots where the store has them. A part of it compares the store with a
// trivial model under random operations.
//
// # What it does not test
//
// Durability. How a store dies and comes back is the store's own affair.
//
// # Concurrency
//
// The tests of the suite run in parallel, each with a store of its own.
package tasktest
