// Package wire is the client of the load generator: HTTP/1.1 over plain TCP
// connections, one goroutine each.
//
// The load shares the machine with the server that it measures, so what it costs
// distorts what it measures. A [Conn] therefore writes requests that were built
// beforehand, reads answers into one buffer, and looks at the status, the length and
// the body only. A [Stream] reads server-sent events in the same way.
//
// # Guarantees
//
// An answer with another status than 200, a broken frame, a body that ends early and
// a connection that closes are errors, never short answers.
//
// # What it does not promise
//
// It is no general client: it knows Content-Length and chunked bodies, and nothing of
// redirects, compression, trailers with a meaning, or interim answers.
//
// # Concurrency
//
// A Conn and its Stream belong to one goroutine. The context of Dial closes the
// connection from outside.
//
// # Testing
//
// The tests run against package net/http and against raw bytes; the parser of answers
// is a fuzz target.
package wire
