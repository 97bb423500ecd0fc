// Package conns bounds the connections of a server, so that a flood of them leaves room for other
// callers and file descriptors for the rest of the process.
//
// A [Limit] is shared by the listeners of a process. [Limit.Listen] wraps a listener, whose server
// reports the states of its connections with [Limit.State].
//
// # Guarantees
//
// At most Limit.Max connections are open, and Limit.Reserve more of this machine. A connection
// that has not sent a complete request head is half-open. One address has at most
// Limit.HalfOpen half-open connections; for a further one the oldest is closed. If there is no room
// for a new connection, a half-open one is closed in its place, the oldest of the address that
// has most of them, or else the one that is idle for the longest time. A new connection is only
// refused if all others are at work.
//
// Accept survives the lack of descriptors and of memory: it closes connections in the same order,
// or waits until one ends. An episode is logged once, at its beginning.
//
// # Non-guarantees
//
// Callers behind one proxy are one address. An attacker with many addresses can have Max half-open
// connections, each until it is closed for a newer one.
//
// # Concurrency
//
// A Limit is safe for concurrent use. It takes its lock when a connection is opened, sends its
// first head, and is closed, not for each request.
package conns
