// Package memstore keeps tasks in memory.
//
// A [Store] is for tests and for hubs that need not keep their tasks after they stop. The zero
// Store is ready to use.
//
// # The arena
//
// A hub keeps tasks for weeks, and nearly all of them have ended. As Go values, a million of
// them are tens of millions of pointers, which the garbage collector would visit in every
// cycle. Therefore a task that has ended is encoded into the arena, a few large chunks of bytes
// without pointers, and the indexes hold hashes and numbers in place of names. The sorted sets
// are kept in blocks, so that a page of a list costs the same in a store of a thousand tasks
// and in one of a million.
//
// # Guarantees
//
// A Store fulfils the contract of package task except durability. The cost of finding a task
// does not depend on the number of tasks.
//
// # Non-guarantees
//
// Tasks are lost with the process. The memory for tasks is not limited: tasks are kept until
// they are swept.
//
// # Concurrency
//
// All methods are safe for concurrent use.
//
// # Testing
//
// The store passes package tasktest. The decoder of ended tasks is a fuzz target.
package memstore
