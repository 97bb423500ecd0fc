// Package peer calls other agents in whatever they speak, and loses nothing on the way.
//
// # What it is
//
// A [Peer] is another agent, as its card describes it: [Dial] fetches the card, [New]
// takes one that is there. Its calls take and give JSON of v1.0, byte for byte, whatever
// is on the wire: JSON-RPC or HTTP+JSON of v1.0 or v0.3, PromptKit, the gateway of
// RockBot, POST /tasks/send, or a binding that a [Factory] adds.
//
// Send, Stream, Subscribe, Get, Cancel and List are the operations of the protocol.
// [Peer.Run] is what most callers want: it sends a message and follows its task to the
// end by all means that the peer has. [Peer.Follow] is the same for a task that is known.
//
// # Guarantees
//
// A message is sent again only if it surely was not accepted: no connection could be
// made, or the peer refused it with 429, 503, or as unknown. Other calls are repeated
// after failures. A peer that speaks another version than its card says is called in
// that, and the log says so once.
//
// Every event is checked: a state that nobody knows is an error and never an end, and so
// is an event of another task. Text that is no JSON counts as a broken connection; a web
// page in place of an answer is said to be one.
//
// Everything is bounded: answers, events, silence, retries, and, for Run and Follow, the
// whole call. A peer that fails again and again is called only now and then.
//
// Credentials go to the host that was configured, are never logged, and are not sent in
// the clear if the peer was configured with TLS.
//
// # What it does not promise
//
// A Message after a task, with which RockBot ends its streams, becomes the status
// COMPLETED. A dialect that has no place for something does not carry it: v0.3 over
// HTTP+JSON has no unknown fields, a job of RockBot no files. A Task event may repeat
// what was seen.
//
// # Concurrency
//
// A Peer is safe for concurrent use. It starts no goroutine that outlives a call.
// Breaking out of a loop closes its connection and leaves the remote task alone; the end
// of the context of Run and Follow cancels it, unless the cause is [ErrDetached].
//
// # Testing
//
// The tests run against the front of the hub, the mock, the official SDK's servers and
// scripted servers that misbehave. What goes over the wire is told by transcripts, and
// whatever the hub's encoders write is read back.
package peer
