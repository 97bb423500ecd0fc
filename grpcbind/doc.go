// Package grpcbind serves a hub over gRPC: the service lf.a2a.v1.A2AService of A2A
// v1.0 (specification §10), and beside it a2a.v1.A2AService, which is that of v0.3.
//
// # What it is
//
// A [Binding] turns the calls of both services into operations of the engine
// and the engine's answers into protocol buffers. It is a sibling of the HTTP
// bindings, not a layer on top of them: requests pass the same decoders, so a field
// that JSON-RPC refuses is refused here, with the same words and the same violation.
//
//	b := grpcbind.New(grpcbind.Config{Engine: hub.Engine(), Auth: hub.Authenticator()})
//	err := b.Serve(ctx, listener)
//
// [Binding.Register] adds the services to a server that somebody else made.
//
// The messages of v0.3 are those of its HTTP+JSON in another encoding. They pass the
// same functions from text to text as there (package internal/dialect), and the tasks
// and webhooks that they make remember the same dialect.
//
// # Guarantees
//
// The tenant and the metadata of every call reach the engine. Calls are checked in
// the order: who calls, whether that caller is within its limits, which protocol
// version, what is asked for. Errors carry the
// status of the protocol's table, a google.rpc.ErrorInfo, and where they apply a
// google.rpc.BadRequest and a google.rpc.RetryInfo. The text of an unknown error
// stays in the log; the caller gets a reference to it.
//
// Service parameters are metadata: a2a-version, a2a-extensions (specification
// §3.2.6). Several values and values joined by commas mean the same. A call without
// a2a-version is one of version 1.0, because the name of the service says so. A page
// size of zero is the default one, as is usual in protocol buffers; over HTTP it is
// an error.
//
// The header of an answer with tasks or messages names the extensions that are active,
// as a2a-extensions, and as x-a2a-extensions to a caller who has used the key of v0.3: for
// a message those that its agent has confirmed, and otherwise those of the agent's card.
// A message with the metadata idempotency-key is taken once, where the engine was
// configured so.
//
// A stream shows the task first and then every event in order. It ends with the
// status OK when the task has ended or asks for input; it ends with UNAVAILABLE when
// the hub stops before that. Its trailer last-event-id names the version up to which
// the reader has seen the task, and SubscribeToTask resumes there if its metadata
// carries last-event-id, as the header of that name does over HTTP.
//
// A reader that does not take a message within Limits.SendTime is cut off. Until
// then it holds no more memory than one page of events.
//
// In v0.3 the metadata a2a-tenant names the agent, for which the messages have no
// field; a call without it goes to the default one. GetAgentCard shows the extended
// card. Statuses are those that the SDKs of v0.3 read: FAILED_PRECONDITION is a task
// that cannot be canceled, and what else is not supported is UNIMPLEMENTED. A stream
// ends where its task asks for input, a subscription too.
//
// # What it does not promise
//
// Protocol buffers have less room than JSON. Fields that the protocol does not know
// cannot be carried. Numbers in data and metadata are of type double: integers
// beyond 2^53 lose digits, and numbers beyond the range of a double arrive as the
// largest one. Over HTTP the same task shows all of it. A message that gRPC itself
// cannot decode, or that is larger than Limits.Message, gets gRPC's own error
// without ErrorInfo. Clients refuse answers above their own limit, often 4 MiB.
//
// v0.3 has no list of tasks; ListTasks, which some generated clients have, is
// unimplemented. References from messages to other tasks are not shown in v0.3.
//
// # Concurrency
//
// A Binding is safe for concurrent use. A stream has a goroutine of its own beside
// gRPC's, which ends with the call; Serve returns when all have.
//
// # Testing
//
// The tests call a real engine through a connection in memory, with the generated
// client and with that of the SDK.
package grpcbind
