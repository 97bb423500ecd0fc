// Package peer calls other agents in the dialect that they support, without losing events.
//
// # Overview
//
// A [Peer] is another agent, as its card describes it: [Dial] fetches the card, [New] uses an
// existing one. Its calls accept and return JSON of v1.0, byte for byte, whatever the dialect
// of the connection is: JSON-RPC or HTTP+JSON of v1.0 or v0.3, a dialect that a part
// adds, POST /tasks/send, or a binding added by a transport.Factory.
//
// Send, Stream, Subscribe, Get, Cancel and List are the operations of the protocol. Most
// callers need [Peer.Run]: it sends a message and follows its task to the end with the means
// that the peer offers. [Peer.Follow] is the same for a task that is known.
//
// # Guarantees
//
// A message is resent only if it was certainly not accepted: no connection could be made, or
// the peer refused it with 429, 503, or as unknown. Other calls are repeated after failures. If
// a peer implements another version than its card states, that version is used, and the
// mismatch is logged once.
//
// Every event is checked: an unknown state is an error and never an end, and so is an event of
// another task. Invalid JSON counts as a broken connection; a web page in place of an answer is
// reported as such.
//
// Everything is bounded: answers, events, silence, retries, and, for Run and Follow, the whole
// call. A peer that fails repeatedly is called only occasionally.
//
// Credentials are sent to the configured host only, are never logged, and are not sent
// unencrypted if the peer was configured with TLS.
//
// # Non-guarantees
//
// A Message after a task, with which some agents end their streams, becomes the status COMPLETED.
// Data without a place in a dialect is dropped: v0.3 over HTTP+JSON has no unknown fields, a
// job no files. A Task event may repeat earlier events.
//
// # Concurrency
//
// A Peer is safe for concurrent use. It starts no goroutine that outlives a call. Breaking out
// of a loop closes its connection and does not affect the remote task; the end of the context
// of Run and Follow cancels it, unless the cause is [ErrDetached].
package peer
