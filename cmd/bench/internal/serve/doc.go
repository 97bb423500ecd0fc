// Package serve contains the servers that the bench compares, each to be run in a process of
// its own.
//
// All of them serve the same agent (see [Text]): Parley on SQLite and in memory, the official
// Go SDK in memory, and a bare handler of package net/http that does the minimum for an answer.
// The program in the folder js does the same with the official JavaScript SDK.
//
// # Guarantees
//
// A server prints one line with its listen address when it is ready. After that it reads
// commands from its standard input, one a line, and answers each with one line of JSON on its
// standard output; see [Command]. It ends when its input ends, so that no server outlives the
// bench.
//
// # Non-guarantees
//
// The servers trust a header for the owner of a call: they are for measurements on loopback.
//
// # Concurrency
//
// Run serves until its input or its context ends, and waits for everything that it started.
//
// # Testing
//
// The tests of the bench's main package start every server and put a small load on it.
package serve
