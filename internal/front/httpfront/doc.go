// Package httpfront is the hub's HTTP side: it determines the operation and the caller of a
// request, calls the engine, and writes the answer.
//
// # Overview
//
// A [Front] serves both HTTP bindings of the protocol, the agent cards, and the two health
// paths:
//
//	POST /  /a2a  /a2a/{agent}  /a2a/{agent}/a2a     JSON-RPC
//	POST /v1/a2a[/{tenant}]/message:send             HTTP+JSON
//	POST /v1/a2a[/{tenant}]/message:stream
//	GET  /v1/a2a[/{tenant}]/tasks
//	GET  /v1/a2a[/{tenant}]/tasks/{id}
//	POST /v1/a2a[/{tenant}]/tasks/{id}:cancel
//	POST /v1/a2a[/{tenant}]/tasks/{id}:subscribe     and GET
//	     /v1/a2a[/{tenant}]/tasks/{id}/pushNotificationConfigs[/{config}]
//	GET  /v1/a2a[/{tenant}]/extendedAgentCard
//	POST /tasks/send  /a2a/{agent}/tasks/send        jobs
//	     /v1/message:send  /v1/tasks/{id} …          HTTP+JSON of v0.3
//	GET  /v1/parts/{task}/{digest}                   a large part of a task
//	GET  /.well-known/agent-card.json                and agent.json
//	GET  /.well-known/jwks.json                      the keys that sign cards
//	GET  /.well-known/openid-configuration           whose assertions are signed with them
//	GET  /a2a/{agent}/.well-known/agent-card.json    and below /v1/a2a/{tenant}/
//	GET  /healthz  /readyz  /metrics
//	POST /mcp  and GET, DELETE                       MCP, by another handler
//
// A tenant is the name of an agent. Paths are parsed without a router, because names of agents
// and task ids are free text, and ":cancel" is a verb only if it is not escaped.
//
// The order of the checks is fixed: path and method, caller, limits of the caller, agent,
// version, content type, size, payload. The version of a JSON-RPC call is checked once its id
// is known, so that the error carries the id. Package dialect reads and writes the payloads and
// holds the table of errors.
//
// Surfaces in the shapes of other ecosystems (package surface) serve further paths, such as
// /v1/chat/completions. They share the front's guard, authentication and limits, and have their
// own shape of errors.
//
// # Dialects
//
// JSON-RPC is read in v1.0, v0.3, and the dialects that parts add; package dialect distinguishes
// them. A call in another dialect than v1.0 is rewritten
// into v1.0 before it is decoded, and its answer, its frames and its errors are rewritten into
// its dialect. Calls of v1.0 that name their version have no overhead from that. A task
// remembers the dialect in which it was created; [Profiles] supply the dialect of calls that do
// not show theirs.
//
// # Cards
//
// A card lists the credentials that the hub requires, if the authenticator reports them (a
// method Security like that of auth.Keyring). Requirements have the protocol's spelling. Only
// Go programs that do not name themselves get the spelling of the official SDK.
//
// The extended card is served if the engine is configured with its readers. Its token
// authorizes nothing else; a caller without other credentials has no principal. Its answers are
// not cacheable.
//
// # Extensions and keys
//
// Callers name extensions in A2A-Extensions, or in the header of v0.3, X-A2A-Extensions.
// Answers with tasks or messages, including streams, name the active extensions, in the header
// of v1.0, and for a caller of v0.3 in its own header as well. For a message these are the
// extensions that its agent has confirmed, and otherwise those that the agent's card declares.
// Only the first hundred extensions of a request are used.
//
// A message with an Idempotency-Key is accepted once, if the engine is configured so. The
// dialect, the binding and streaming make no difference to the key.
//
// # Guarantees
//
// Every answer to a call has the shape of its surface, including errors. An error that was not
// written for callers is sent as "internal error" with a reference, and is logged once under
// that reference.
//
// The frames of a stream are the events that the engine has stored, in its order. The id of an
// event is the version of its entry, so a reader that reconnects with Last-Event-ID misses and
// repeats nothing. An error that is known before the first event is a plain answer.
//
// A reader that does not accept a write within [Limits].WriteTime is disconnected. It delays no
// other reader, because the stream reads from the log and not from a channel. A caller that
// disconnects ends its own stream and nothing else.
//
// Each request of a caller counts against its limits before its body is read, and the body once
// it was read: all operations of both bindings, /mcp, and everything below /api/v1. A caller
// over a limit gets 429 with Retry-After. Cards, health paths and the description of /api/v1 have no
// caller and are not counted.
//
// Without an authenticator only callers on this machine are served, and only by a loopback name
// (see [Config].Auth).
//
// # Non-guarantees
//
// The grouping of events into writes depends on timing. Comments between events mean only that
// the connection is alive.
//
// # Concurrency
//
// A Front serves any number of requests concurrently. It starts no goroutines; a stream runs in
// the goroutine of its request and holds no buffer while it is idle.
//
// # Testing
//
// Protocol behaviour is recorded as transcripts under testdata; -update rewrites their answers.
// Tests with timeouts run over in-memory connections in a synctest bubble.
package httpfront
