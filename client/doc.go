// Package client is the caller's side of A2A: it finds an agent by its card and calls it in the
// dialect that the agent supports.
//
// [Dial] fetches the card below a URL and returns a [Client]; [New] does the same for an
// existing card. The calls accept and return the SDK's types, whether the agent supports v1.0
// or v0.3 over JSON-RPC or HTTP+JSON, another dialect of JSON-RPC, or POST /tasks/send;
// [Options].Transports adds gRPC. A [Conversation] keeps the ids, [Fold] combines events, and
// [Update] summarizes one. A [Judge] asks an agent to grade the output of another one.
//
// # Guarantees
//
// Every call names its protocol version. A call that could not connect at all is tried on the
// next interface of the card. A call that may have been received is never repeated, unless it
// is idempotent and Options.Retries allows it. An agent that does not know the version of its
// card is called in the other one, because it has accepted nothing.
//
// Streams last as long as the agent keeps them open: no timeout of the client ends them. A
// stream that ends before its task did is a [*Cut]; [Client.Follow] continues where it was cut,
// without a repetition if the agent numbers its events, and [Client.Wait] does so until there
// is a result. Answers are bounded in size. Redirects are followed only within the called host
// and scheme. Credentials are sent only to the host that was passed to Dial, unless
// [Credentials] allow others. If the card was fetched over TLS, an interface that would
// transmit credentials unencrypted is not used.
//
// An error that the agent reported is an [*Error] with its code and reason, whatever the
// binding, and wraps the SDK's sentinel for it. An agent that could not be connected to is
// [ErrUnreachable]. An unknown state, an event of another task and a web page in place of an
// answer are a2a.ErrInvalidAgentResponse.
//
// # Non-guarantees
//
// Stream and Subscribe do not reconnect by themselves: the message is never resent. Events
// without an id, and all events over gRPC, are repeated as part of the task. Fields that the
// SDK's types do not know are dropped, and numbers in data parts pass through float64. Cards
// are not verified and not cached. Jobs of POST /tasks/send can be neither followed nor
// canceled.
//
// # Concurrency
//
// A Client is safe for concurrent use. It starts no goroutine that outlives a call. Breaking
// out of a stream closes its connection; the task continues.
//
// # Testing
//
// The tests run against the SDK's own server, over JSON-RPC and HTTP+JSON, against the mock in
// every dialect, and against scripted agents that break connections at critical points.
package client
