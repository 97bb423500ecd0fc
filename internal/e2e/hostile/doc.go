// Package hostile holds the tests of an attacker: one table of requests that no honest client
// makes. They are sent to the command `parley serve` with keys, issuers of tokens, two
// organisations, signed cards and every surface. Each row is followed by checks of the whole
// hub.
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
// # Non-guarantees
//
// Foreign ids on every method are tested in internal/e2e/isolation, and addresses of webhooks
// in push (TestHostileTargets). Here they are only sampled. The behaviour of callers over time,
// and requests beyond the size limits of this hub, are tested in internal/e2e/stalled. Time is
// bounded, not measured.
//
// # Concurrency
//
// Rows are sent one after the other, because the stored state is compared after each. Rows that
// wait for a timeout of the hub (slow) run concurrently with them.
//
// # Testing
//
// The package is tests only. Good requests that differ from the hostile ones in one aspect are
// part of the setup, so that a hub that refuses everything fails too.
package hostile
