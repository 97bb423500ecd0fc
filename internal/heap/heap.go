// Package heap tells the garbage collector that a small heap is not worth
// collecting often.
//
// A hub keeps little in memory: its live heap is a few MiB, and with the
// collector's default it would be collected many times a second under load. Floor
// adds an allocation that is never touched, and so never becomes resident, but
// that the collector counts. A large heap is collected as always, which a higher
// GOGC would change.
//
// # Concurrency
//
// Floor may be called at any time; the last call counts.
package heap

import "sync/atomic"

// ballast is held, and its bytes are never read or written.
var ballast atomic.Pointer[[]byte]

// Size is the floor that the command parley uses: the heap grows to about twice
// that before it is collected.
const Size = 32 << 20

// Floor makes the collector let the heap grow to about twice n bytes before it
// collects.
func Floor(n int) {
	b := make([]byte, n)
	ballast.Store(&b)
}
