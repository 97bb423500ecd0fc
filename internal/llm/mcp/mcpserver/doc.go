// Package mcpserver offers the tools of an llm.Source over the Model Context Protocol (MCP), to
// one host over a pair of pipes or to many callers over HTTP.
//
// # Overview
//
// A [Server] configures the tools and the resources (a [Library]) of one caller. [Server.Serve]
// serves the host that has started the program (stdio). A [Handler] is the streamable HTTP
// endpoint: it determines the caller of each request, and has a Server for each caller.
//
// It supports the versions of MCP from 2024-11-05 to 2026-07-28, the last one over HTTP without
// sessions.
//
// # Guarantees
//
// A canceled tool has returned before its call is answered. A call ends when the caller cancels
// it (notifications/cancelled), when a host closes its pipe, and with [Handler.Close]; the
// context of the tool ends then. If the connection of an HTTP caller breaks, its calls
// continue. Version 2026-07-28 is an exception: there the request is the call.
//
// Callers that have requested progress receive it, at most ten times per second and at least
// every [Limits.Beat], so that hosts with a timeout know that the call is alive. A question
// goes to the user of the host (elicitation) if the host supports that; a form that the user
// declines or dismisses is a refusal.
//
// All resources are limited: arguments, results, concurrent calls, sessions and subscriptions,
// see [Limits]. Content that is too large for a response is stored for a while, and the
// response has a link to it (a resource link).
//
// An HTTP session belongs to the caller that opened it. It does not exist for other callers.
//
// # Non-guarantees
//
// Schemas of results are not announced: clients reject results without the structured content
// that a schema requires, and a tool may have none. The _meta of a content block holds the
// values that MCP has no place for: the file name, the metadata and the origin of a part.
// Structured content is the first data part that is an object; each data part is also included
// as text.
//
// Prompts, sampling and logging are not offered. The requests of a batch are answered one by
// one; over stdio a batch is rejected.
//
// # Concurrency
//
// A Server and a Handler serve any number of concurrent calls. The goroutines of a Server end
// before Serve returns, except one that reads from a pipe which cannot be interrupted; those of
// a Handler end before Close returns.
package mcpserver
