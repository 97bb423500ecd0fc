// Package stdio is the connection between an MCP host and a program: messages are lines of JSON
// on standard input and output. A [Pipe] is a transport of the official SDK. Unlike the SDK's
// own transport, it survives lines that are invalid JSON, no messages, or too large.
//
// # Guarantees
//
// A Pipe keeps at most Options.Limit bytes of a line. An invalid line does not end the
// connection: it is answered with an error or passed to Options.Bad, and reading continues with
// the next line.
//
// # Non-guarantees
//
// Batches are rejected. A write blocks while the other side does not read.
//
// # Concurrency
//
// Run is for one goroutine, which ends with the pipe. The SDK calls the other methods.
package stdio
