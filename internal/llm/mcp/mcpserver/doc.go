// Package mcpserver offers the tools of an llm.Source over the Model Context Protocol
// (MCP), to one host over a pair of pipes or to many callers over HTTP.
//
// # What it is
//
// A [Server] says what one caller gets: tools, and what can be read (a [Library]).
// [Server.Serve] speaks to the host that has started the program (stdio). A [Handler] is
// the streamable HTTP endpoint: it asks who calls, and has a Server for each.
//
// The versions of MCP from 2024-11-05 to 2026-07-28 are spoken, over HTTP the last one
// without sessions.
//
// # Guarantees
//
// A tool that is told to stop has stopped before its call is answered. A call ends when
// the caller cancels it (notifications/cancelled), when a host closes its pipe, and with
// [Handler.Close]; then the context of the tool ends. A caller of HTTP whose connection
// breaks changes nothing, except with version 2026-07-28, where the request is the call.
//
// Progress of a call goes to callers who have asked for it, at most ten times a second
// and at least every [Limits.Beat], so that hosts with a timeout know that it is alive.
// A question goes to the person at the host (elicitation) where the host can do that; a
// form that is declined or dismissed is a refusal.
//
// Nothing grows without bound: arguments, results, calls at one time, sessions and
// subscriptions have limits, see [Limits]. What is too large for an answer stays where
// the caller can read it (a resource link), for a while.
//
// A session of HTTP belongs to the caller who opened it. For all others it does not exist.
//
// # What it does not promise
//
// Schemas of results are not announced: clients refuse results without the structured
// content that a schema names, and a tool may well have none to give. What MCP has no
// place for is in the _meta of a content: the file name, the metadata and the origin of a
// part. Structured content is the first data part that is an object; each data part is
// also there as text.
//
// Prompts, sampling and logging are not offered. Answers to a batch come one by one, and
// over stdio a batch is refused.
//
// # Concurrency
//
// A Server and a Handler serve any number of calls at once. The goroutines of a Server
// end before Serve returns, except one that reads from a pipe which cannot be interrupted;
// those of a Handler before Close returns.
//
// # Testing
//
// The tests speak to it with the official client, over pipes in memory and over HTTP, and
// write lines of their own where a client would not.
package mcpserver
