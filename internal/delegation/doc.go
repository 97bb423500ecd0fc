// Package delegation defines the data that a message carries when one agent sends it on behalf
// of another: the chain of agents, and the remaining limits.
//
// It is sent twice, so that it survives peers that drop one of the two: in the metadata of the
// request (parley.chain, parley.hops, parley.budget, parley.deadline) and in headers
// (X-Parley-Chain and so on; over gRPC in metadata of the same names). Where the two differ,
// the stricter value counts.
//
// # Guarantees
//
// Received data is bounded: a chain has at most [MaxChain] names of at most [MaxName] bytes of
// visible ASCII, numbers do not exceed the limits of the hub, and a deadline can only become
// earlier. An invalid value under one of these names is refused, and the error gives its
// position.
//
// # Non-guarantees
//
// The data is not signed. A peer that drops or forges the chain is not detected; its messages
// begin a new delegation with the limits of the receiving hub.
package delegation
