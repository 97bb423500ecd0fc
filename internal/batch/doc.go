// Package batch lets what many send to one place at one time travel together.
//
// # What it is
//
// A [Convoy] is for what costs much each time and little for each item: a signature, a
// message of a broker, a commit. Who comes while nobody sends, sends at once and alone; who
// comes while somebody does waits, and the first of those then sends for all of them.
//
// # Guarantees
//
// Nothing waits for company. Send returns when its own item was sent, with the error of
// that. Nothing is sent to one key side by side, and what one goroutine sends goes in its
// order.
//
// # What it does not promise
//
// An item may be sent although its Send has ended with its context.
//
// # Concurrency
//
// A Convoy may be used by many goroutines, and starts none. It keeps nothing for a key to
// which nobody sends.
//
// # Testing
//
// The tests run in bubbles, with a sender that is held up.
package batch
