// Package grpcbind serves a hub over gRPC: the service lf.a2a.v1.A2AService of A2A v1.0
// (specification §10), and beside it a2a.v1.A2AService, the service of v0.3.
//
// # Overview
//
// A [Binding] turns the calls of both services into operations of the engine and the engine's
// answers into protocol buffers. It is a sibling of the HTTP bindings, not a layer on top of
// them: requests pass the same decoders, so a field that JSON-RPC refuses is refused here, with
// the same text and the same violation.
//
//	b := grpcbind.New(grpcbind.Config{Engine: hub.Engine(), Auth: hub.Auth})
//	err := b.Serve(ctx, listener)
//
// [Binding.Beside] serves both gRPC and HTTP on one server:
//
//	server.Handler = b.Beside(hub.Handler())
//
// [Binding.Register] adds the services to an existing server.
//
// The messages of v0.3 are those of its HTTP+JSON in another encoding. The same functions
// rewrite them as JSON (package internal/dialect), and the tasks and webhooks that they create
// remember the same dialect.
//
// # Guarantees
//
// The tenant and the metadata of every call reach the engine. The order of the checks is:
// caller, limits of the caller, protocol version, payload. Errors carry the status of the
// protocol's table, a google.rpc.ErrorInfo, and where they apply a google.rpc.BadRequest and a
// google.rpc.RetryInfo. The text of an unknown error stays in the log; the caller gets a
// reference to it.
//
// Service parameters are metadata: a2a-version, a2a-extensions (specification §3.2.6). Several
// values and values joined by commas are equivalent. A call without a2a-version has version
// 1.0, because the name of the service implies it. A page size of zero is the default one, as
// is usual in protocol buffers; over HTTP it is an error.
//
// The header of an answer with tasks or messages names the active extensions as a2a-extensions,
// and as x-a2a-extensions to a caller that has used the key of v0.3. For a message these are
// the extensions that its agent has confirmed, and otherwise those of the agent's card. A
// message with the metadata idempotency-key is accepted once, if the engine is configured so.
//
// A stream sends the task first and then every event in order. It ends with the status OK when
// the task has ended or asks for input; it ends with UNAVAILABLE when the hub stops before
// that. Its trailer last-event-id is the version up to which the reader has received the task.
// SubscribeToTask resumes there if its metadata carries last-event-id, like the header of that
// name over HTTP.
//
// A reader that does not accept a message within Limits.SendTime is disconnected. Until then it
// occupies no more memory than one page of events.
//
// In v0.3 the metadata a2a-tenant names the agent, for which the messages have no field; a call
// without it goes to the default one. GetAgentCard returns the extended card. Statuses are
// those that the SDKs of v0.3 expect: FAILED_PRECONDITION is a task that cannot be canceled,
// and other unsupported operations are UNIMPLEMENTED. A stream ends when its task asks for
// input, a subscription too.
//
// # Non-guarantees
//
// Protocol buffers can represent less than JSON. Fields that the protocol does not define
// cannot be carried. Numbers in data and metadata are of type double: integers beyond 2^53 lose
// digits, and numbers beyond the range of a double arrive as the largest one. Over HTTP the
// same task is complete. A message that gRPC itself cannot decode, or that is larger than
// Limits.Message, gets gRPC's own error without ErrorInfo. Clients refuse answers above their
// own limit, often 4 MiB.
//
// v0.3 has no list of tasks; ListTasks, which some generated clients have, is unimplemented.
// References from messages to other tasks are omitted in v0.3.
//
// # Concurrency
//
// A Binding is safe for concurrent use. A stream has a goroutine of its own beside gRPC's,
// which ends with the call; Serve returns when all have ended.
//
// # Testing
//
// The tests call a real engine through a connection in memory, with the generated client and
// with that of the SDK.
package grpcbind
