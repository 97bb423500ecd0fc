// Package isolation holds the tests of a guessing caller. It knows the ids of another caller's
// tasks, contexts, webhooks, notes and questions, and tries every operation with them.
//
// One matrix runs against the command, with every surface: TestForeignInEveryDialect makes the
// requests of every dialect (package dialecttest), of chat completions, AG-UI, MCP and the API,
// over every path of a tenant and with every authentication scheme, as a caller of another
// organisation, of none, and of the same. Each request is made once with data of the other
// caller and once with ids that do not exist.
//
// # Guarantees
//
// The tests fail if data of the owner, all of which is marked, is in an answer to another caller;
// if two answers differ in more than the guessed id; and if a guess changes the owner's view. A
// caller of the owner's organisation must see the data, which proves that there was some to leak.
//
// # Non-guarantees
//
// Time is not measured. TestForeignIsAsMissing in internal/engine proves that the store is asked
// the same for a foreign id as for a missing one, and never for data of the owner.
package isolation
