// Package deadletter keeps the envelopes that their queues have given up, so that a person can
// look at them, publish them again, or drop them.
//
// # What it is
//
// A [Desk] receives at bus.Dead and writes each envelope down as a [Letter] in a [Book].
// If it was work, the task that it belongs to is told. A [Memory] keeps letters until the
// process ends; package sqlitestore keeps them in the file with the tasks; suite deadtest
// says what every book has to do.
//
// Several hubs may share a broker and with it bus.Dead. What belongs to another hub is
// passed on to that hub, at a queue that it alone receives from.
//
// # Guarantees
//
// A letter is in the book before its envelope is acknowledged. An envelope that arrives
// again is the same letter. A letter that is replayed is published before it is dropped.
// There are never more letters than Desk.MaxLetters, nor more bytes than Desk.MaxBytes,
// nor for longer than Desk.MaxAge: the oldest make way.
//
// # What it does not promise
//
// What is replayed may have been executed before it died, and dies again if nothing has
// changed.
//
// # Concurrency
//
// A Desk and a Book are safe for concurrent use.
//
// # Testing
//
// The tests use bus.Memory and fake time.
package deadletter
