// Package wire is the client of the load generator: HTTP/1.1 over plain TCP connections, one
// goroutine each.
//
// The load shares the machine with the measured server, so the cost of the load distorts the
// measurement. A [Conn] therefore writes requests that were built beforehand, reads answers
// into one buffer, and examines only the status, the length and the body. A [Stream] reads
// server-sent events in the same way.
//
// # Guarantees
//
// An answer with a status other than 200, a broken frame, a body that ends early and a
// connection that closes are errors, never short answers.
//
// # Non-guarantees
//
// It is not a general client: it supports Content-Length and chunked bodies, but no redirects,
// compression, trailers with a meaning, or interim answers.
//
// # Concurrency
//
// A Conn and its Stream belong to one goroutine. The context of Dial closes the connection from
// outside.
//
// # Testing
//
// The tests run against package net/http and against raw bytes; the parser of answers is a fuzz
// target.
package wire
