// Package bustest is the suite that every [bus.Bus] passes.
//
// # Guarantees
//
// A bus that passes [Run] does what package bus promises of one: queues that keep, one
// receiver for each envelope, order, leases, dead letters in place of endless delivery,
// topics that reach all who listen and nobody else, exact limits and errors. Where the
// broker of a test can be stopped, filled, fed with rubbish or reached from another
// process, that is tested as well.
//
// # What it does not promise
//
// Speed is not tested, nor is what a broker keeps when its machine fails. That nothing is
// left running is for goleak in the TestMain of the bus.
//
// # Concurrency
//
// The tests of the suite run in parallel, each with a broker of its own, unless
// [Features] say Serial.
//
// # Testing
//
// Package bus runs the suite on [bus.Memory], and on buses that are broken on purpose:
// each of them must fail.
package bustest
