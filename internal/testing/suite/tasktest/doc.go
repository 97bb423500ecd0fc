// Package tasktest is the suite that every [task.Store] passes. It also has a few short
// functions for tests that need tasks.
//
// # Guarantees
//
// A store that passes [Test] fulfils the contract of package task: compare and set, gapless
// entries, scope by owner, lists with exact totals, the work of the hub, sweeping, snapshots,
// webhooks, requests, and all data beside a task. A part of the suite compares the store with a
// trivial model under random operations.
//
// # Non-guarantees
//
// The suite does not test durability: each store tests its own recovery after a crash. It does
// not test speed either.
//
// # Concurrency
//
// The tests of the suite run in parallel, each with a store of its own.
//
// # Testing
//
// The suite is run on [memstore.Store], and on stores that are broken on purpose: each of them
// must fail.
package tasktest
