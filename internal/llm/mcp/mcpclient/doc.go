// Package mcpclient uses the tools of MCP servers: programs that it starts, and HTTP endpoints.
//
// # Overview
//
// A [Client] connects to one server and keeps it running: it connects, lists the tools, and
// restarts when the server has ended. A [Set] is an llm.Source with the tools of several
// servers, which are named mcp__{server}__{tool}.
//
// # Guarantees
//
// A server that ends, does not answer, breaks the protocol or floods the client is disconnected
// and restarted after a pause, from one second to five minutes; [Client.Status] has the reason.
// The result of an interrupted call states the interruption. The call is never repeated,
// because its effects are unknown.
//
// The text of a server is untrusted: results have their Origin set, and the text is never an
// instruction. All resources that a server uses are limited, see [Limits].
//
// Canceling a call cancels it at the server (notifications/cancelled).
//
// # Non-guarantees
//
// Requests of servers are not answered: roots, sampling and elicitation are not offered.
// Resources and prompts of servers are not used.
//
// # Concurrency
//
// All types are safe for concurrent use once their fields are set. The goroutines of a Client
// end before Run returns.
package mcpclient
