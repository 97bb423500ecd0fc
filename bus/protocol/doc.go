// Package protocol is what hubs and workers say to each other over a bus: the types of
// envelopes, what is in their bodies, and the names of the addresses.
//
// # How a job goes
//
// A hub publishes [Work] at the queue of the agent. A worker that receives it sends a
// [Claim] to the hub's topic and does nothing before it has a [Grant]: the hub gives each
// job to one worker at a time, whatever the broker delivers how often, and writes that
// down before it answers. A [Denial] says that there is nothing to do: the worker
// acknowledges the work and forgets it, unless the denial says Later.
//
// The worker executes the agent and reports its events at the topic of the hub, in
// [Report]s, numbered from 1 within the epoch of its grant. The hub takes the next number
// alone: it drops what it has, and asks for what is missing. Whatever is durable it
// confirms ([Confirm]) at the worker's topic. The worker keeps what is not confirmed,
// sends it again when it is asked to, when it has waited too long and when its connection
// is back, and acknowledges the work when its last event is confirmed. What the hub does
// not confirm within a second, because it is away, the queue of the hub keeps for it.
//
// While it holds grants the worker sends a [Beat] to the hub that gave them, several times
// within a lease. A hub that hears none for a lease gives the job to somebody else, with a
// higher epoch, or lets the task fail; what comes of the old epoch is answered with a
// [Stop]. A [Cancel] asks the worker to cancel; the answer is a final event, or a [Report]
// with CancelRefused.
//
// A worker that ends gives back what it cannot finish (GivenBack); the hub does then what
// it does for one that is lost, without waiting for it to be missed.
//
// A job ends with an event that is final or waits for the caller (INPUT_REQUIRED), or with
// the end of the run after AUTH_REQUIRED. What the caller says then is a new job, with the
// task so far, for whichever worker is free.
//
// What a hub says to one worker at one time, and a worker to one hub, may go together in a
// [Batch], if both have said that they take one.
//
// Content that does not fit into an envelope, such as an image or a long task, is not in
// the work: the worker fetches it ([Fetch], [Piece]) after its grant. An event that does
// not fit is reported in pieces, each with a number of its own. Both ways have a limit of
// [MaxLarge], and are checked by their SHA-256.
//
// # Guarantees
//
// Two runs never both count: an epoch is in one grant, and events of another epoch change
// nothing. A worker that dies is noticed within a lease.
//
// # What it does not promise
//
// What a run has done in the world before its worker was lost is done: a job that is given
// to another worker, because it was declared idempotent, may do it again.
//
// # Concurrency
//
// The package has types and constants alone.
//
// # Testing
//
// agent (the worker) and agent/queue (the hub) are tested against each other; the workers
// in examples/ are written against docs/wire.md alone.
package protocol
