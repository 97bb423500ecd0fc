// Package mcpclient uses the tools of MCP servers: programs that it starts, and endpoints
// on the web.
//
// # What it is
//
// A [Client] is one server and keeps it running: it connects, lists the tools, and begins
// again when the server is gone. A [Set] is several of them, and an llm.Source with all
// their tools, which are named mcp__{server}__{tool}.
//
// # Guarantees
//
// A server that ends, does not answer, speaks something else or floods is cut off and
// begun anew after a pause, from one second to five minutes; [Client.Status] says why. A
// call that was under way gives a result that says so: it is never repeated, because
// nobody knows what it has done.
//
// What a server says is a stranger's: results have their Origin set, and what they say
// is never an instruction. Nothing that it sends grows without bound, see [Limits].
//
// A call that is canceled is canceled at the server (notifications/cancelled).
//
// # What it does not promise
//
// Servers get no answers to questions of their own: roots, sampling and elicitation are
// not offered. Resources and prompts of servers are not used.
//
// # Concurrency
//
// All types are safe for concurrent use once their fields are set. The goroutines of a
// Client end before Run returns.
//
// # Testing
//
// The tests use servers of the official SDK, and programs that misbehave.
package mcpclient
