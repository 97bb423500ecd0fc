// Package driver is the line protocol of internal/e2e/interop for peers that are written
// in Go.
//
// # What it is
//
// [Serve] reads steps from standard input, hands each to a [Peer], and prints what the
// peer sees. The params of a step are decoded into the types of the library, and what
// the library returns is printed as it encodes it.
//
// # Guarantees
//
// Each step is taken by a goroutine of its own, so that a stream does not hold up the
// others, and Serve returns when all of them have ended.
//
// # What it does not promise
//
// The package is for programs below internal/e2e/interop. It depends on nothing but the
// standard library (its tests look for leaks), so that it changes no version of what a
// peer depends on.
//
// # Concurrency
//
// A peer must take several steps at the same time.
//
// # Testing
//
// The tests take steps with a peer of their own.
package driver
