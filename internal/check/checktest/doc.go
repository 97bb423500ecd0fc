// Package checktest has a small A2A server for tests of checks. It does everything
// right, over JSON-RPC, HTTP+JSON and gRPC in v1.0 and in v0.3, and a Defect breaks one thing.
//
// Its agent knows the behaviours of the public kits by the first text of a message.
//
// # What it does not promise
//
// The server keeps everything in memory and nothing is bounded. It is as large as the
// checks need.
//
// # Concurrency
//
// A Server is safe for concurrent use. It runs in a bubble of testing/synctest: all its
// connections are pipes in memory.
//
// # Testing
//
// The tests of package check run all checks against the server.
package checktest
