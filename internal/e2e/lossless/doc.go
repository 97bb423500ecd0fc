// Package lossless tests that a hub passes on members that it does not know.
//
// A generator adds unknown members to requests and answers: nested objects, numbers that no
// double can represent, Unicode, odd and empty names, at every level. Messages are sent over
// every binding of v1.0 and v0.3 to agents of every kind, on each kind of store: one in the
// process, remote agents at another hub over each of its bindings, and a worker at a queue.
//
// # Guarantees
//
// docs/dialects.md has a table of the losses of each binding, which the tests read. They fail
// if a member or a digit that the table declares as kept is lost on the way to the agent or
// back, in the stream or in the task; if an event of an unknown kind does not arrive in its
// place; and if a member is kept that the table declares as lost, so that the table is exact.
//
// # Testing
//
// The package is tests only. PARLEY_LOSSLESS sets the smallest number of messages; the default
// takes a few seconds. The seed of the generator is in the log.
package lossless
