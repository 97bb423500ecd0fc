// Package bustest is the suite that every [bus.Bus] passes.
//
// # Guarantees
//
// A bus that passes [Run] keeps the promises of package bus: durable queues, one receiver for
// each envelope, order, leases, dead letters instead of endless delivery, topics that reach
// exactly their listeners, exact limits and errors. If the broker of a test can be stopped,
// filled, fed with rubbish or reached from another process, these cases are tested as well.
//
// # Non-guarantees
//
// The suite tests neither speed, nor durability when the broker's machine fails. Use goleak in
// the TestMain of the bus to check that no goroutine is left running.
//
// # Concurrency
//
// The tests of the suite run in parallel, each with a broker of its own, unless [Features] has
// Serial set.
//
// # Testing
//
// Package bus runs the suite on [bus.Memory], and on deliberately broken buses: each of them
// must fail.
package bustest
