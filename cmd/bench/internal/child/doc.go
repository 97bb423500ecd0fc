// Package child is the processes of servers that the bench starts, and what the
// operating system knows of them.
//
// [Start] starts a server of package serve, or one in another language that speaks the
// same lines. [Spawn] starts any program that says where it listens, such as the
// command parley.
//
// # Guarantees
//
// A process that was started is ended and waited for by Stop or Kill, and ends by
// itself when the bench dies. Time and memory come from /proc, so they hold for every
// server alike; on a system without /proc, asking for them is an error.
//
// # What it does not promise
//
// The time of a processor comes in ticks of 10 ms; what takes less must be repeated.
//
// # Concurrency
//
// A Process belongs to one goroutine, except that Stats and the like may be called
// while others put load on the server.
//
// # Testing
//
// The tests read the numbers of the test process itself; starting and stopping is
// tested by the bench's main package.
package child
