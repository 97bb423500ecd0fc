// Package delegation is what a message carries that one agent sends on behalf of another:
// through whom the work has come, and how far it may still go.
//
// It travels twice, so that it survives peers that drop one of the two: in the metadata
// of the request (parley.chain, parley.hops, parley.budget, parley.deadline) and in
// headers (X-Parley-Chain and so on; over gRPC in metadata of the same names). Where the
// two differ, the stricter one counts.
//
// # Guarantees
//
// What was read is bounded: a chain has at most [MaxChain] names of at most [MaxName]
// bytes of visible ASCII, numbers are no larger than the limits of the hub, and a deadline
// can only move forward. Something else under one of these names is refused, and the
// error says where it stood.
//
// # What it does not promise
//
// Nothing is signed. A peer that drops the chain, or invents one, is not found out; what
// it sends begins a new errand with the limits of the hub that gets it.
//
// # Concurrency
//
// An Errand is a value. Its chain must not change.
//
// # Testing
//
// Everything here is a pure function.
package delegation
