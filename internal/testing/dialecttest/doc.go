// Package dialecttest has the requests of clients of every dialect as text, for tests that say the
// same thing in all of them.
//
// A [Tongue] is a table: how a client of one dialect makes a task, and what it says for each
// operation, with words in the places of ids: $ID is the task, $CTX its context, $CONFIG a
// webhook of it, $NEW an id that is new. The agent is called ask.
//
// # Guarantees
//
// Each of [Operations] is in a tongue, as one that the dialect has or as one that it lacks.
//
// # What it does not promise
//
// The requests are those of honest clients. It sends nothing itself.
//
// # Concurrency
//
// All returns a new table each time.
//
// # Testing
//
// internal/e2e/bridges uses each dialect on tasks of every other one, internal/e2e/isolation on
// those of other callers. It is for tests alone.
package dialecttest
