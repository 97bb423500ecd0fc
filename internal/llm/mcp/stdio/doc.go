// Package stdio is the connection between a host of MCP and a program: messages are lines
// of JSON on standard input and output.
//
// # What it is
//
// A [Pipe] is a transport of the official SDK that survives what the SDK's own one does
// not: lines that are no JSON, that are no messages, and that are too large.
//
// # Guarantees
//
// No more than Options.Limit bytes of a line are kept. A line that is no message changes
// nothing: it is answered, or told to whoever made the Pipe, and the next one counts.
//
// # What it does not promise
//
// Batches are refused. A write to somebody who does not read waits.
//
// # Concurrency
//
// Run is for one goroutine, which ends with the pipe; the other methods are for the SDK.
//
// # Testing
//
// Packages mcpserver and mcpclient test both of its sides.
package stdio
