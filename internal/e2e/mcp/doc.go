// Package mcp holds the tests of MCP with the official Go SDK: as a host of a hub, over
// standard input and output and over HTTP, and as a server whose tools a hub uses.
//
// # What it is
//
// A hub as a process, and hosts of every version of MCP before it. Package interop has
// the host in TypeScript.
//
// # Guarantees
//
// The tests fail if a tool of the hub is missing from the list or is not called, if
// progress, cancellation and questions do not arrive on a transport, if a host sees what
// is another's, and if a server that crashes stays away.
//
// # What it does not promise
//
// What tools answer in detail is tested with package hubtools.
//
// # Concurrency
//
// Each test has a hub of its own; tests run side by side.
//
// # Testing
//
// The package is tests only.
package mcp
