// Package awaken holds strict peers of Awaken, whose tests run the binary.
//
// # Overview
//
// Three peers communicate with parley serve. Awaken 0.6.0 itself, which peer/ builds from
// crates.io, is both a client and a server. A client behaves like Awaken's A2aBackend, with the
// types that Awaken declares. A server answers in Awaken's order of events. README.md lists the
// facts that they enforce, with their sources.
//
// # Testing
//
// The rows AW1 to AW40 of internal/parts/statements.md name the tests. Those that need
// Awaken itself are skipped if it is not built; .ci/rust builds it.
package awaken
