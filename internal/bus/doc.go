// Package bus carries work to agents that need not be running when they are called, and carries
// their answers back.
//
// # Overview
//
// A [Bus] carries an [Envelope] to an [Address]. A queue keeps each envelope until one of its
// receivers has acknowledged it; a topic sends it to all current receivers. [Memory] is a bus
// within one process. The others are in packages of their own: internal/bus/natsbus,
// internal/bus/natsbus/embedded, internal/bus/amqpbus. Package internal/bus/protocol defines the messages between hubs and
// workers, and docs/wire.md specifies them for other languages.
//
// # Guarantees
//
// An envelope in a queue is delivered at least once, for as long as the broker keeps it, and to
// one receiver at a time. After MaxDeliveries it moves to [Dead]: it is neither lost silently
// nor redelivered without end. Envelopes that one goroutine publishes at one queue with one
// receiver arrive in their order, except redelivered ones.
//
// A hub signs its envelopes to workers ([Signer]). A worker that trusts its key ([Keyring]) can
// verify their origin and content without trusting the broker. The signed form is in
// docs/wire.md.
//
// # Non-guarantees
//
// A signature proves neither that an envelope is new nor that it is for the receiver. Receivers
// check the destination, and a replayed envelope keeps its original meaning.
//
// Delivery is never exactly once: receivers detect duplicates by the numbers in the envelope. A
// topic loses envelopes while it has no receiver. The queues of a broker in memory end with it
// ([Durability]).
//
// # Concurrency
//
// A Bus is safe for concurrent use. A Delivery belongs to the receiver that got it.
//
// # Testing
//
// Package internal/testing/suite/bustest has the suite that every bus passes.
package bus
