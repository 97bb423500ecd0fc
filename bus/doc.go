// Package bus is how work reaches agents that need not be running when they are called,
// and how their answers come back.
//
// # What it is
//
// A [Bus] carries an [Envelope] to an [Address]. A queue keeps what it gets until one of
// its receivers has acknowledged it; a topic tells all who listen at that moment.
// [Memory] is a bus within one process. The others are in packages of their own:
// bus/natsbus, bus/natsbus/embedded, bus/amqpbus.
// What hubs and workers say to each other is in package bus/protocol, and for everybody else
// in docs/wire.md.
//
// # Guarantees
//
// What a queue has taken is delivered at least once, for as long as the broker keeps it,
// and to one receiver at a time; after MaxDeliveries it is at [Dead], never lost in
// silence and never delivered for ever. Envelopes that one goroutine publishes at one
// queue with one receiver arrive in their order, but for those that come again.
//
// What a hub says to workers it signs ([Signer]); whoever trusts its key ([Keyring]) knows
// that nobody else has said or changed it, whatever the broker lets in. The form that is
// signed is in docs/wire.md.
//
// # What it does not promise
//
// A signature does not say that an envelope is new, or for whom: receivers look at the
// destination, and an old envelope means what it meant.
//
// Nothing here is exactly once: receivers tell doubles by the numbers in the envelope. A
// topic loses what nobody hears. The queues of a broker in memory end with it
// ([Keeper]).
//
// # Concurrency
//
// A Bus is safe for concurrent use. A Delivery belongs to whoever got it.
//
// # Testing
//
// Package internal/testing/suite/bustest has the suite that every bus passes.
package bus
