// Package lossless holds the test of what a hub passes on although it does not know it.
//
// A generator puts members that the protocol does not have into requests and answers:
// nested objects, numbers that no double holds, Unicode, odd and empty names, at every
// level there is. Messages go by every binding of v1.0 and v0.3 to agents of every kind: one
// in the process, agents elsewhere that are another hub, over each of its bindings, and a
// worker at a queue; on each kind of store.
//
// # Guarantees
//
// docs/dialects.md has a table of what each binding loses, which the tests read. They fail if
// a member or a digit that it says is kept is lost on the way to the agent or back, in the
// stream or in the task; if an event of an unknown kind does not come in its place; and if
// something is kept that the table says is lost, so that it is the whole truth.
//
// # What it does not promise
//
// Package fidelity proves which members messages, parts and artifacts keep over a restart.
//
// # Concurrency
//
// All messages to one store use the same hubs, side by side.
//
// # Testing
//
// The package is tests only. PARLEY_LOSSLESS sets how many messages are sent at least;
// the default takes a few seconds. The seed of the generator is in the log.
package lossless
