// Package conns bounds the connections of a server, so that a flood of them leaves room for other
// callers and file descriptors for the rest of the process.
//
// A [Limit] is shared by the listeners of a process. [Limit.Listen] wraps a listener, whose server
// reports the states of its connections with [Limit.State].
//
// # Guarantees
//
// At most Limit.Max connections are open, and Limit.Reserve more of this machine. For a further one,
// the connection is closed that has waited for a request for the longest time: one without a complete
// request head, or one that is idle. A new connection is refused if all others have a request. The same
// connections are closed if the process lacks descriptors or memory for a new one; if there are none, the
// server tries again later.
//
// # Non-guarantees
//
// Callers of one address have no share: whoever opens many connections closes idle ones of others, which
// connect again. The times of a request head and of an idle connection are those of the server.
//
// # Concurrency
//
// A Limit is safe for concurrent use.
package conns
