// Package heap makes the garbage collector collect a small heap less often.
//
// The live heap of a hub is a few MiB. With the collector's default it would be collected many
// times a second under load. Floor adds an allocation that the collector counts. The allocation
// is never touched and so never becomes resident. A large heap is collected as often as without
// it; a higher GOGC would change that.
//
// # Concurrency
//
// Floor may be called at any time; the last call counts.
package heap

import "sync/atomic"

// ballast holds the allocation of Floor; its bytes are never read or written.
var ballast atomic.Pointer[[]byte]

// Size is the floor that the command parley uses. The heap grows to about twice this size, in
// bytes, before it is collected.
const Size = 32 << 20

// Floor lets the heap grow to about twice n bytes before it is collected.
func Floor(n int) {
	b := make([]byte, n)
	ballast.Store(&b)
}
