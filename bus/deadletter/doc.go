// Package deadletter keeps dead envelopes, so that an operator can inspect, republish or drop
// them.
//
// # Overview
//
// A [Collector] receives at bus.Dead and stores each envelope as a [Letter] in a [Store]. If the
// envelope was work, the collector notifies the task that it belongs to. A [Memory] keeps letters
// until the process ends; package sqlitestore keeps them in the file with the tasks. Suite
// deadlettertest tests the contract of a store.
//
// Several hubs may share a broker and with it bus.Dead. An envelope that belongs to another hub
// is passed on to that hub, at a queue with this one receiver.
//
// # Guarantees
//
// A letter is stored before its envelope is acknowledged. An envelope that arrives again is the
// same letter. A replayed letter is published before it is dropped. The store never holds more
// than Collector.MaxLetters letters or Collector.MaxBytes bytes, nor letters older than
// Collector.MaxAge: the oldest are dropped.
//
// # Non-guarantees
//
// A replayed envelope may have been executed before it went to Dead, and goes there again if
// its cause persists.
//
// # Concurrency
//
// A Collector and a Store are safe for concurrent use.
//
// # Testing
//
// The tests use bus.Memory and fake time.
package deadletter
