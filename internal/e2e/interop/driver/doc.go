// Package driver is the line protocol of internal/e2e/interop for peers that are written in Go.
//
// # Overview
//
// [Serve] reads steps from standard input, passes each to a [Peer], and prints the peer's
// results. The params of a step are decoded into the types of the library, and the library's
// results are printed in its own encoding.
//
// # Guarantees
//
// Each step runs in a goroutine of its own, so that a stream does not delay the others. Serve
// returns when all of them have ended.
//
// # Non-guarantees
//
// The package is for programs below internal/e2e/interop. It depends on the standard library
// alone (its tests check for leaks), so that it changes no version of a peer's dependencies.
//
// # Concurrency
//
// A peer must support several concurrent steps.
//
// # Testing
//
// The tests run steps with a peer of their own.
package driver
