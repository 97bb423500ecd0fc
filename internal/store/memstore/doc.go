// Package memstore keeps tasks in memory.
//
// A [Store] is for tests and for hubs that need not keep their tasks after they stop. The zero
// Store is ready to use.
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
// The store passes package tasktest.
package memstore
