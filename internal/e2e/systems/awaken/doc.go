// Package awaken holds strict peers of Awaken, whose tests drive the binary.
//
// # What it is
//
// Three peers speak with parley serve: Awaken 0.6.0 itself, which peer/ builds from crates.io
// and which is both a client and a server; a client that does what Awaken's A2aBackend does,
// with the types that Awaken declares; and a server that answers in Awaken's order of events.
// README.md says which facts they hold and where those were read.
//
// # Testing
//
// The rows AW1 to AW40 of internal/e2e/systems/statements.md name the tests. Those that need
// Awaken itself are skipped where it is not built; .ci/awaken builds it.
package awaken
