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
// make or change. An address that is not on loopback is refused without TLS and keys. The
// streams hold MaxBytes; above it Publish returns bus.ErrFull. bus.json appears complete
// and with mode 0600, and is gone after Close.
//
// # What it does not promise
//
// Nothing outlives the process. A worker with a key may announce an agent of another name
// and put anything at Dead. A key that is revoked counts until its connection ends: see
// Server.Drop.
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
