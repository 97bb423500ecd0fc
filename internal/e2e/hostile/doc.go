// Package hostile holds the tests of an attacker against the command `parley serve` with keys, issuers
// of tokens, organisations, signed cards and every surface.
//
// TestHostile is a table of requests that no honest client makes; each row is followed by checks of
// the whole hub. TestForeignInEveryDialect is a matrix of surfaces, paths, authentication schemes and
// callers: a guessing caller knows the ids of another caller's tasks, contexts, webhooks, notes and
// questions, and tries every operation with them. The tests of stalled readers run the hub in the
// process, because they choose time limits that the command does not have and measure the heap.
//
// # Guarantees
//
// Each row states the exact answer: the status, the reason or code in the form of the surface,
// the invalid field, and whether the connection stays open. The tests fail if a row stores data
// or runs an agent although it must not; if an answer contains a secret, a path, a stack or
// text of another caller's task; if the log or the audit log contains a secret; if the audit
// log lacks the refusals or is not intact; and if the hub does not answer a good request
// immediately afterwards.
//
// The matrix makes each request once with data of its owner and once with ids that do not exist. It
// fails if data of the owner, all of which is marked, is in an answer to another caller; if the two
// answers differ in more than the guessed id; and if a guess changes the owner's view. A caller of
// the owner's organisation must see the data, which proves that there was some to leak.
//
// A caller that stops reading must not cost another one an answer, an event or a task, and must not
// fill the heap. Crowds of callers are tested in internal/e2e/strangers.
//
// # Non-guarantees
//
// Addresses of webhooks are tested in push (TestHostileTargets), and only sampled here. Time is
// bounded, not measured: TestForeignIsAsMissing in internal/engine proves that the store is asked the
// same for a foreign id as for a missing one.
//
// # Concurrency
//
// Rows are sent one after the other, because the stored state is compared after each. Rows that
// wait for a timeout of the hub (slow) run concurrently with them. The tests that measure the heap
// run alone.
//
// # Testing
//
// The package is tests only. Good requests that differ from the hostile ones in one aspect are
// part of the setup, so that a hub that refuses everything fails too.
package hostile
