// Package endpoint serves the tools and the resources of a hub to MCP hosts: at the address /mcp
// of the hub, and for a program beside the host ("parley mcp").
//
// # Guarantees
//
// Each caller of an [Endpoint] has its own server, whose requests to the hub carry the principal
// of the caller. A session ends when the permissions of its caller change. Close ends all calls;
// their tasks are not canceled.
//
// # Non-guarantees
//
// An Endpoint does not authenticate callers: the front of the hub does.
//
// # Concurrency
//
// An Endpoint is safe for concurrent use. Call Handler once, and before Close.
package endpoint
