// Package hubtest starts hubs for tests: as processes that can be killed, and within the
// process of the test.
//
// # Overview
//
// [Start] runs the real command with its own configuration and data folder. [Hub.Kill] ends it
// at once, and [Hub.Start] starts it again with the same address and data. [New] creates a hub
// without starting it, for hubs whose configurations contain each other's addresses. [Launch]
// runs any other command, such as a worker. [Run] serves a parley.Hub, and [Serve] an engine that
// the test has assembled itself. [InMemory] serves a hub with one agent whose connections are in
// memory, so that it runs in a synctest bubble. Package enginetest runs an engine alone.
//
// The command is built when a test first needs it, once for all tests of a package.
// PARLEY_BINARY names a command to use instead, which may be built with the race detector.
//
// # Guarantees
//
// A started hub is ready: it has logged its address, and has recovered the tasks of the process
// before it. Start waits for these log lines instead of polling the hub. A hub ends at the end
// of its test, by its own process id. A hub keeps its address while it is down: the port is not
// among those that systems assign to outgoing connections.
//
// # Non-guarantees
//
// Except on Linux, two tests on one machine may choose the same port; the hub that starts
// second reports it. Only the last 256 KiB of a hub's output are kept. The package does not end
// programs that a killed hub ran; the hub ends them at its next start.
//
// # Concurrency
//
// Methods are safe for concurrent use, so that a test may inject a fault at any time. Start
// returns an error for a hub that is killed while it starts.
package hubtest
