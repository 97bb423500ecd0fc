// Package child runs the server processes of the bench, and reads their numbers from the
// operating system.
//
// [Start] starts a server of package serve, or one in another language with the same line
// protocol. [Spawn] starts any program that prints its address, such as the command parley.
//
// # Guarantees
//
// Stop and Kill end a process and wait for it; a process also ends by itself when the bench
// dies. Time and memory are read from /proc, in the same way for every server. On a system
// without /proc, reading them returns an error.
//
// # Non-guarantees
//
// Processor time is counted in ticks of 10 ms; shorter operations must be repeated.
//
// # Concurrency
//
// A Process belongs to one goroutine, except that Stats and the like may be called while other
// goroutines put load on the server.
//
// # Testing
//
// The tests read the numbers of the test process itself; the bench's main package tests
// starting and stopping.
package child
