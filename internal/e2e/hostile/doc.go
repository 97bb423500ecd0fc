// Package hostile holds the tests of an attacker: one table of requests that no honest
// client makes, sent to the command as it is run, `parley serve` with keys, issuers of
// tokens, two organisations, signed cards and every surface.
//
// # Guarantees
//
// Each row says exactly what its caller is told: the status, the reason or code in the
// shape of the surface, the field that is wrong, and whether the connection goes on. The
// tests fail if anything was stored by a row that stores nothing, if an agent was run for
// one, if an answer has a secret, a path, a stack or a word of another caller's task, if the
// hub has said a secret in its log or its audit log, if the latter does not know of the
// refusals or is not whole, and if it does not answer a good request right afterwards.
//
// # What it does not promise
//
// Foreign ids on every method are tested with internal/e2e/isolation, and addresses of webhooks
// with push (TestHostileTargets). Those are not repeated here, only sampled. What a caller does
// over time, and requests that are larger than this hub takes, are the business of
// internal/e2e/defects. Time is bounded, not measured.
//
// # Concurrency
//
// Rows are sent one after the other, because what each leaves behind is compared. Those
// that wait for the hub's patience to end (slow) run beside them.
//
// # Testing
//
// The package is tests only. Good requests that differ from the hostile ones in one thing
// are part of the table's world, so that a hub that refuses everything fails too.
package hostile
