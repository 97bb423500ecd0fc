// Package batch combines simultaneous sends to one destination.
//
// # Overview
//
// A [Batcher] is for operations with a high cost per call and a low cost per item: a signature,
// a message to a broker, a commit. A caller that comes while none is sending sends at once and
// alone. Callers that come during a send wait, and the first of them then sends for all.
//
// # Guarantees
//
// No item waits for further ones while there are few: if the last batch had at least four items, the
// next one waits half a millisecond for others. Send returns when its own item was sent, with the error of
// that send. There is one send to a key at a time, and the items of one goroutine keep their
// order.
//
// # Non-guarantees
//
// An item may be sent although its Send has ended with its context.
//
// # Concurrency
//
// A Batcher is safe for concurrent use, and starts no goroutines. It keeps no state for a key
// without senders.
package batch
