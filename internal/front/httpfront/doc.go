// Package httpfront is the hub's HTTP side: it finds out what a request asks for
// and who asks, lets the engine do it, and writes the answer.
//
// # What it is
//
// A [Front] serves both HTTP bindings of the protocol, the agent cards, and the
// two health paths:
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
//	POST /tasks/send  /a2a/{agent}/tasks/send        RockBot's agents
//	     /v1/message:send  /v1/tasks/{id} …          HTTP+JSON of v0.3
//	GET  /v1/parts/{task}/{digest}                   a large part of a task
//	GET  /.well-known/agent-card.json                and agent.json
//	GET  /.well-known/jwks.json                      the keys that sign cards
//	GET  /.well-known/openid-configuration           whose assertions are signed with them
//	GET  /a2a/{agent}/.well-known/agent-card.json    and below /v1/a2a/{tenant}/
//	GET  /healthz  /readyz  /metrics
//	POST /mcp  and GET, DELETE                       MCP, by another handler
//
// A tenant is the name of an agent. Paths are taken apart by hand: agents and task
// ids are free text, and ":cancel" counts only where nobody escaped it.
//
// The order of the checks is fixed: path and method, caller, limits of the caller,
// agent, version, content type, size, payload. A JSON-RPC call has its version checked once its id
// is known, so that the error carries it. Package dialect reads and writes the
// payloads and holds the table of errors.
//
// Surfaces in the shapes of other ecosystems (package guest) serve what else there is, such as
// /v1/models, /v1/chat/completions and /ag-ui/{agent}. They have the front's guard, identity
// and limits, and their own shape of errors.
//
// # Dialects
//
// JSON-RPC is read in four dialects, which package dialect tells apart: v1.0, v0.3,
// that of PromptKit and that of RockBot's gateway. A call in another one than v1.0 is
// rewritten into v1.0 before it is decoded, and its answer, its frames and its errors are
// rewritten into its dialect. Calls of v1.0 that name their version pay nothing for that.
// A task remembers the dialect in which it was made; [Profiles] say what a call does not.
//
// # Cards
//
// A card says which credentials the hub asks for, as soon as it does, if the
// authenticator knows (a method Security like that of auth.Keyring). Requirements have
// the protocol's spelling, but for Go programs that do not name themselves, which get
// that of the official SDK.
//
// The extended card is there if the engine was configured with who may see it. Its
// token opens nothing else; whoever has no other credentials is nobody. Nothing keeps
// the answer.
//
// # Extensions and keys
//
// Callers name extensions in A2A-Extensions, or in the header of v0.3, X-A2A-Extensions.
// Answers with tasks or messages, streams too, name those that are active, in the header
// of v1.0 and to a caller of v0.3 in its own: for a message those that its agent has
// confirmed, and otherwise those that the agent's card declares. The first hundred of a
// request count.
//
// A message with an Idempotency-Key is taken once, where the engine was configured so.
// The dialect, the binding and whether the answer is a stream make no difference to it.
//
// # Guarantees
//
// Every answer to a call has the shape of the surface it came in by, errors
// included. An error that was not written for callers leaves as "internal error"
// with a reference, and is logged once under it.
//
// The frames of a stream are what the engine has stored, in its order; the id of an
// event is the version of its entry, so a reader who comes back with Last-Event-ID
// misses nothing and gets nothing twice. An error that is known before the first
// event is a plain answer.
//
// A reader who does not take a write within [Limits].WriteTime is cut off; it holds
// up nobody else, because the stream reads from the log and not from a channel. A
// caller who goes away ends its own stream and nothing else.
//
// Each request of a caller counts against its limits before its body is read, and the
// body once it was: all operations of both bindings, /mcp, and everything below /api/v1. Who
// is over a limit gets 429 with Retry-After. Cards and health paths have no caller and
// are not counted.
//
// Without an authenticator only callers on this machine are served, and only by a
// loopback name (see [Config].Auth).
//
// # What it does not promise
//
// Which events a write carries together is a matter of timing. Comments between
// events mean only that the connection is alive.
//
// # Concurrency
//
// A Front serves any number of requests at once. It starts no goroutines; a stream
// lives in the goroutine of its request and holds no buffer while it is idle.
//
// # Testing
//
// Protocol behaviour is written down as transcripts under testdata; -update writes
// their answers again. Tests with timeouts run over in-memory connections in a
// bubble with a clock of its own.
package httpfront
