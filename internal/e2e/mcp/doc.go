// Package mcp holds the tests of MCP with the official Go SDK: as a host of a hub, over
// standard input and output and over HTTP, and as a server whose tools a hub uses.
//
// # Overview
//
// The tests run a hub as a process, with hosts of every version of MCP. Package interop has the
// host in TypeScript.
//
// # Guarantees
//
// The tests fail if a tool of the hub is missing from the list or cannot be called; if
// progress, cancellation and questions do not arrive on a transport; if a host gets data of
// another caller; and if a crashed server is not restarted.
//
// # Non-guarantees
//
// The answers of tools are tested in detail with package hubtools.
package mcp
