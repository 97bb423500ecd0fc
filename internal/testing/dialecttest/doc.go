// Package dialecttest holds example requests in every dialect as text, for tests that perform
// the same operations in all dialects.
//
// A [Tongue] is a table with the request that creates a task in one dialect, and the request of
// each operation on it. Requests contain placeholders for ids: $ID is the task, $CTX its
// context, $CONFIG a webhook of it, and $NEW a new id. The agent is called ask.
//
// # Guarantees
//
// Each of [Operations] is in a tongue, either as an operation of the dialect or as one that the
// dialect lacks.
//
// # Non-guarantees
//
// The requests are well-formed; the package has no hostile ones. It sends nothing itself.
package dialecttest
