// Package isolation holds the tests of a guessing caller. It knows the ids of another caller's
// tasks, contexts and webhooks and the tokens of that caller's pages, and tries every operation
// with them.
//
// Two callers with API keys share a hub. All data of a task is marked with the name of its
// owner. Each operation of the protocol is called over JSON-RPC, HTTP+JSON and gRPC, and over
// gRPC of v0.3 as far as that has it, on the memory store and on SQLite. It is called once with
// data of the other caller and once with ids that do not exist.
//
// In addition a matrix runs against the command, with every surface. TestForeignInEveryDialect
// makes the requests of every dialect (package dialecttest), of chat completions, AG-UI, MCP
// and the API, over every path of a tenant and with every authentication scheme: as a caller of
// another organisation, of none, and of the same.
//
// # Guarantees
//
// The tests fail if a marked byte reaches the other caller, in a body, a header, a trailer or
// anything else on its connections; if two answers differ in more than the guessed id; if a
// foreign guess makes more calls of the store than a wrong one, or any by the key of a foreign
// task; and if it changes the owner's view.
//
// # Non-guarantees
//
// In the matrix the calls of the store are not examined. Time is not measured; equal calls of
// the store are the reason for equal time. The authentication of callers is tested with package
// auth.
//
// # Testing
//
// The package is tests only. The owner makes the same calls and must see every mark, which
// proves that there was data to leak.
package isolation
