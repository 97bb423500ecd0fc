// Package fidelity holds the tests of what passes through a hub unchanged.
//
// A message with everything that the protocol leaves to others is sent over both HTTP
// bindings to a hub on each kind of store, and read back in every way there is.
//
// # Guarantees
//
// The tests fail if a field that the hub does not know is lost, if a number of 64 bits
// or more loses a digit, or if what belongs to an extension (the lists of URIs, the
// metadata under its URI) is changed: in the answer, in GetTask, in a list, in a stream,
// in what the executor reads as agent.Call.Message, and after the hub was started again
// on its file. The same goes for what an executor passes on as agent.Raw.
//
// # What it does not promise
//
// The SDK's types, and gRPC, have a double for every number and no place for unknown
// fields. Executors that need more read agent.Call.Message.
//
// # Concurrency
//
// Each test has a hub of its own.
//
// # Testing
//
// The package is tests only.
package fidelity
