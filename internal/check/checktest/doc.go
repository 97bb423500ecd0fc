// Package checktest has a small A2A server for tests of checks. It is correct, over JSON-RPC,
// HTTP+JSON and gRPC in v1.0 and in v0.3, and a Defect breaks one property. The first text of a
// message selects a behaviour of the public kits.
//
// # Non-guarantees
//
// The server keeps everything in memory without bounds. It implements only the features that
// the checks need.
//
// # Concurrency
//
// A Server is safe for concurrent use. It runs in a synctest bubble: all its connections are
// pipes in memory.
//
// # Testing
//
// The tests of package check run all checks against the server.
package checktest
