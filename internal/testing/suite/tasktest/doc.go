// Package tasktest is the suite that every [task.Store] passes, and a few short
// words for tests that need tasks.
//
// # Guarantees
//
// A store that passes [Test] does what package task promises of one: compare and
// set, gapless entries, scope by owner, lists with exact totals, the work of the
// hub, sweeping, and snapshots, webhooks and requests where the store has
// them. A part of the suite
// compares the store with a trivial model under random operations.
//
// # What it does not promise
//
// Durability is not tested. How a store dies and comes back is its own affair.
// Neither is speed.
//
// # Concurrency
//
// The tests of the suite run in parallel, each with a store of its own.
//
// # Testing
//
// The suite is run on [memstore.Store], and on stores that are broken on purpose: each
// of them must fail.
package tasktest
