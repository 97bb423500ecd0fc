// Package protocol defines the messages between hubs and workers on a bus: the types of
// envelopes, their bodies, and the names of the addresses.
//
// # Life of a job
//
// A hub publishes [Work] at the queue of the agent, or sends it to the topic of a worker with a free
// slot, which may drop it: then it goes to the queue. A worker that receives it sends a [Claim]
// to the hub's topic and does not start before it has a [Grant]. The hub grants each job to one
// worker at a time, however often the broker delivers it, and stores the grant before it
// answers. After a [Deny] the worker acknowledges the work and forgets it, unless the denial
// has Later set.
//
// The worker executes the agent and sends its events in [Report]s to the topic of the hub,
// numbered from 1 within the epoch of its grant. The hub accepts only the next number: it drops
// duplicates, and requests missing events. It confirms durable events ([Confirm]) at the
// worker's topic. The worker keeps unconfirmed events. It resends them on request, after a
// time-out and after a reconnection. It acknowledges the work when its last event is confirmed.
// Events that the hub does not confirm within a second, because it is unreachable, go to its
// queue, which keeps them.
//
// While it holds grants, the worker sends a [Heartbeat] to each hub concerned, several times
// within a lease. A hub that receives none for a lease grants the job to another worker, with a
// higher epoch, or lets the task fail. It answers messages of the old epoch with a [Deny]. A
// [Cancel] asks the worker to cancel; the answer is a final event, or a [Report] with
// CancelRefused.
//
// A worker that stops returns unfinished jobs (GivenBack). The hub then acts as it does for a
// lost worker, without waiting for the end of the lease.
//
// A job ends with an event that is final or waits for the caller (INPUT_REQUIRED), or with the
// end of the run after AUTH_REQUIRED. The caller's next message is a new job, with the current
// task, for any free worker.
//
// Simultaneous messages from a hub to one worker, or from a worker to one hub, may be combined
// in a [Batch], if the receiver has announced support.
//
// Content that does not fit into an envelope, such as an image or a long task, is not in the
// work: the worker fetches it ([Fetch], [Piece]) after its grant. An event that does not fit is
// reported in pieces, each with a number of its own. Both ways have a limit of [MaxLarge], and
// are checked by their SHA-256.
//
// # Guarantees
//
// Two runs never both count: an epoch is in one grant, and events of another epoch change
// nothing. The hub detects a dead worker within a lease.
//
// # Non-guarantees
//
// Side effects of a run that was lost with its worker are not undone. A job that was declared
// idempotent is granted to another worker, which may repeat them.
//
// # Concurrency
//
// The package consists of types, constants and pure functions.
//
// # Testing
//
// Packages worker and internal/agents/queue (the hub) are tested against each other; the workers in sdk/ are
// written against docs/wire.md alone.
package protocol
