// Package embedded is a NATS server within the hub, so that queue agents need no service.
//
// # Overview
//
// [Start] starts a server that keeps its streams in memory. Durable data is in the hub's store,
// and the hub republishes the work that a restart has lost. The hub itself connects within the
// process ([Server.Open]). Other clients can connect only if Listen is set. On loopback they
// use a token that is new at each start. It is in the file bus.json of the data folder, which
// only its owner may read. On other addresses they need TLS and a key per agent.
//
// # Guarantees
//
// A key permits access to the queue of its agent and to the subjects for messages to hubs, and
// to nothing else: no other queue, no topic of another agent's workers, no reading of dead
// letters, no inspection, creation or change of streams. Each agent has an account of its own
// on the server, so responses of the server cannot leave this account. The hub learns from
// which agent a message at its topics comes (bus.Delivery.From), and so detects a worker that
// pretends to belong to another agent. A connection ends when its key expires, and with
// Server.Drop. Start refuses an address that is not on loopback without TLS and keys. The
// streams hold MaxBytes; above it Publish returns bus.ErrFull. bus.json appears complete and
// with mode 0600, and is removed by Close. Workers reconnect to a new server at the same address;
// their acknowledgements of earlier deliveries remove nothing from its stream.
//
// # Non-guarantees
//
// No envelope outlives the process. A worker with a key may publish any envelope at Dead and at
// the queue of reports, where a token authenticates each report, and may fill the streams.
// Accounts of agents are kept until Close.
//
// # Concurrency
//
// A Server is safe for concurrent use. Options.Agent is called on many goroutines.
//
// # Testing
//
// The suite of package bustest runs within the process and over loopback. The limits of keys
// are tested by trying all forbidden operations.
package embedded
