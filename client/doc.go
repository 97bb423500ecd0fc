// Package client is the caller's side of A2A: it finds an agent by its card and calls it
// in whatever it speaks.
//
// [Dial] fetches the card below a URL and returns a [Client]; [New] does the same
// for a card that is already there. The calls take and return the SDK's types, whether
// the agent speaks v1.0 or v0.3 over JSON-RPC or HTTP+JSON, PromptKit's or RockBot's
// dialect, or takes POST /tasks/send; [Options].Transports adds gRPC. A [Conversation]
// keeps the ids, [Fold] adds events up, and [Update] is one in short. A [Judge] asks an agent
// to grade the output of another one.
//
// # Guarantees
//
// Every call names the protocol version that it speaks. A call that could not
// connect at all is tried on the next interface of the card; a call that may have
// been received is never repeated, unless it is idempotent and Options.Retries says so. An
// agent that does not know the version of its card is called in the other one: it has
// accepted nothing.
//
// Streams last as long as the agent keeps them
// open: no timeout of the client ends them. A stream that ends before its task did
// is a [*Cut]; [Client.Follow] goes on where it was cut, without a repetition if the
// agent numbers its events, and [Client.Wait] does so until there is a result.
// Answers are bounded in size. Redirects are followed only within the host and
// scheme that was called. Credentials go to the host that Dial was given alone, unless
// [Credentials] say otherwise. An interface that would carry
// credentials in the clear, although the card came over TLS, is not used.
//
// An error that the agent reported is an [*Error] with its code and reason, whatever
// the binding, and wraps the SDK's sentinel for it. An agent that could not be
// connected to is [ErrUnreachable]. A state that nobody knows, an event of another task
// and a web page in place of an answer are a2a.ErrInvalidAgentResponse.
//
// # What it does not promise
//
// Stream and Subscribe do not come back by themselves: the message is never sent
// again. Events without an id, and all events over gRPC, come again as part of the
// task. Fields that the SDK's types do not know are dropped, and numbers in data
// parts pass through float64. Cards are not verified and not cached. Jobs of
// POST /tasks/send can be neither followed nor canceled.
//
// # Concurrency
//
// A Client is safe for concurrent use. It starts no goroutine that outlives a call.
// Breaking out of a stream closes its connection; the task goes on.
//
// # Testing
//
// The tests run against the SDK's own server, over JSON-RPC and HTTP+JSON, against the
// mock in every dialect, and against scripted agents that break off where it hurts.
package client
