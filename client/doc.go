// Package client is the caller's side of A2A v1.0: it finds an agent by its card
// and calls it over whichever binding both sides speak.
//
// [Dial] fetches the card below a URL and returns a [Client]; [New] does the same
// for a card that is already there. The calls take and return the SDK's types. The
// SDK's own client does the encoding; this package adds what it lacks.
//
// # Guarantees
//
// Every call names the protocol version that it speaks. A call that could not
// connect at all is tried on the next interface of the card; a call that may have
// been received is never repeated. Streams last as long as the agent keeps them
// open: no timeout of the client ends them. A stream that ends before its task did
// is a [*Cut]; [Client.Follow] goes on where it was cut, without a repetition if the
// agent numbers its events, and [Client.Wait] does so until there is a result.
// Answers are bounded in size. Redirects are followed only within the host and
// scheme that was called, so credentials stay there. An interface that would carry
// credentials in the clear, although the card came over TLS, is not used.
//
// An error that the agent reported is an [*Error] with its code and reason, whatever
// the binding, and wraps the SDK's sentinel for it. An agent that could not be
// connected to is [ErrUnreachable].
//
// # What it does not promise
//
// Stream and Subscribe do not come back by themselves: the message is never sent
// again. Events without an id, and all events over gRPC, come again as part of the
// task. Fields that the SDK's types do not know are dropped, and numbers in data
// parts pass through float64. Cards are not verified and not cached.
//
// # Concurrency
//
// A Client is safe for concurrent use. It starts no goroutine that outlives a call.
// Breaking out of a stream closes its connection; the task goes on.
//
// # Testing
//
// The tests run against the SDK's own server, over JSON-RPC and HTTP+JSON, and
// against scripted agents that break off where it hurts.
package client
