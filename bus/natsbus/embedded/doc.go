// Package embedded is a NATS server within the hub, so that queue agents need no service.
//
// # What it is
//
// [Start] starts a server that keeps its streams in memory: what must not be lost is in the
// hub's store, and the hub publishes again what a restart has taken. The hub itself is
// connected within the process ([Server.Open]). Others get in where they are asked to:
// with Listen on loopback, by a token that is new at each start and stands in the file
// bus.json of the data folder, which only its owner may read; elsewhere, over TLS and with
// a key per agent.
//
// # Guarantees
//
// A key opens the queue of its agent and what a worker has to say to hubs, and nothing
// else: no other queue, no topic of another agent's workers, no dead letters, no stream to
// look at, to make or to change. Each agent has an account of its own on the server, so
// that answers of the server, too, go nowhere else, and the hub is told from which agent
// comes what arrives at its topics (bus.Delivery.From): a worker that says it is another
// one's is found out. A connection ends with its key, and with Server.Drop. An address that
// is not on loopback is refused without TLS and keys. The streams hold MaxBytes; above it
// Publish returns bus.ErrFull. bus.json appears complete and with mode 0600, and is gone
// after Close.
//
// # What it does not promise
//
// Nothing outlives the process. A worker with a key may put anything at Dead and into the
// queue of reports, which prove by a token what they are about, and may fill the streams.
// Accounts of agents are kept until Close.
//
// # Concurrency
//
// A Server is safe for concurrent use. Options.Agent is called on many goroutines.
//
// # Testing
//
// The suite of package bustest runs within the process, over loopback, and what keys open
// is tested by trying all else.
package embedded
