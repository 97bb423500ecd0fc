// Package fidelity tests that data passes through a hub unchanged.
//
// The tests send a message that uses all free parts of the protocol over both HTTP bindings to
// a hub on each kind of store. They read it back through every operation that returns it.
//
// # Guarantees
//
// The tests fail if an unknown field is lost, if a number of 64 bits or more loses a digit, or
// if the data of an extension (the lists of URIs, the metadata under its URI) is changed: in
// the answer, in GetTask, in a list, in a stream, in agent.Call.Message for the executor, and
// after a restart of the hub on its file. The same applies to data that an executor passes on
// as agent.Raw.
//
// # Non-guarantees
//
// The SDK's types, and gRPC, have a double for every number and no place for unknown fields.
// Executors that need more read agent.Call.Message.
package fidelity
