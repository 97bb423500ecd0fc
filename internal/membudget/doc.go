// Package membudget bounds the memory that large requests occupy in one process.
//
// A [Budget] is a number of bytes. An operation acquires its estimated need from it before it
// allocates, and releases it afterwards. Small operations, of up to [Small] bytes, acquire
// nothing, so that they pass beside large ones and take no lock.
//
// An [Account] is the memory of an operation that reads answers of the hub and sends its own result.
//
// # Guarantees
//
// The bytes acquired at one time are at most Budget.Max, except for those of Count. A need above Max counts as Max: the
// operation is performed alone. Waiting operations are served by their
// class, answers to accepted work first, and within a class in the order of their arrival. An
// operation that has a Hold and needs more comes before all of them.
// Acquire waits for Budget.Wait at most, and its error names the time after which to retry.
//
// AcquireLong is for accepted work, which must not be refused: it waits until its context ends.
// If nothing was released for Budget.Stall, the first waiting operation continues beyond the
// budget, so that operations that wait for each other end.
//
// # Non-guarantees
//
// The need is an estimate of the caller. Memory of small operations, of open connections and of
// the agents themselves is not counted.
//
// # Concurrency
//
// A Budget and a Hold of it are safe for concurrent use. A nil Budget allows everything.
package membudget
