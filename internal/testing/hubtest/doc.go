// Package hubtest starts hubs for tests: as processes that can be killed, and within the
// process of the test.
//
// # What it is
//
// [Start] runs the real command on a configuration and a data folder of its own, and
// [Hub.Kill] and [Hub.Start] end it at once and start it again, with the same address and
// data. [New] makes a hub that is not started yet, for hubs whose configurations name one
// another's addresses. [Launch] runs any other command, such as a worker. [Serve] serves
// an engine that the test has put together itself.
//
// The command is built when a test first needs it, once for all tests of a package, or is
// the one that PARLEY_BINARY names; that may be built with the race detector.
//
// # Guarantees
//
// A hub that was started is ready: it has announced its address, and has dealt with the
// tasks of the process before it. A hub is waited for by what it says, not by asking
// again and again. At the end of its test a hub is gone; it is ended by its own process
// id. Addresses stay those of their hubs while these are down: they are not among the
// ports that systems give to outgoing connections.
//
// # What it does not promise
//
// Two tests on one machine may choose the same port; the hub that starts second says so.
// What hubs say is kept to the last 256 KiB of it. Programs that a killed hub ran are its
// own affair: it ends them when it starts again.
//
// # Concurrency
//
// Methods are safe for concurrent use, so that a fault may strike at any time. A hub that
// is killed while it starts is not started.
//
// # Testing
//
// The package is for tests alone. Its own tests need the Go command.
package hubtest
