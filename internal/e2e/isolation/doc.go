// Package isolation holds the tests of a caller who guesses: he knows the ids of
// another caller's tasks, contexts and webhooks and the tokens of her pages, and tries
// everything with them.
//
// Two callers with API keys share a hub. Everything that a task can hold is marked with
// the name of its owner. Each operation of the protocol is called over JSON-RPC,
// HTTP+JSON and gRPC, and over gRPC of v0.3 as far as it has it, on the memory store and on SQLite, once with what belongs to the
// other caller and once with what does not exist.
//
// Beside that there is a matrix against the command as it is run, with every surface:
// TestForeignInEveryDialect makes the requests of every dialect (package tongue), of chat
// completions, AG-UI, MCP and the API, over every path of a tenant and with every scheme,
// as somebody of another organisation, as somebody of none, and as somebody of the same.
//
// # Guarantees
//
// The tests fail if a marked byte reaches the other caller, in a body, a header, a
// trailer or anything else that comes over his connections; if two answers differ in
// more than the guess that they were given; if a foreign guess asks the store for more
// than a wrong one, or for anything by the key of a foreign task; and if it changes
// what the owner sees.
//
// # What it does not promise
//
// In the matrix what the store is asked is not looked at. Time is not measured: that both cases ask the store for the same is what makes it
// equal. How callers are authenticated is tested with package auth.
//
// # Concurrency
//
// Each test has a hub of its own. Within a hub the calls come one after the other,
// because what each asks of the store is compared.
//
// # Testing
//
// The package is tests only. The owner makes the same calls herself, and must be shown
// every mark: so the tests know that there was something to see.
package isolation
