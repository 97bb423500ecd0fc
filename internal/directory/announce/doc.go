// Package announce records the agents that announce themselves on a bus.
//
// # Overview
//
// A [Source] is a source of the directory. It receives the announcements of workers at
// protocol.Discovery, and keeps each agent with its card and its connected workers. When it
// subscribes, and after each reconnection, it asks all workers to announce themselves.
//
// # Guarantees
//
// Announcements are stored, so that an agent can be called after a restart of the hub, even
// while no worker runs. An agent without an announcement for 24 hours is removed. An agent
// whose last worker has said goodbye has the state "gone" until then, and no skill leads to it:
// only messages that name it are accepted, and wait. With File set, the agents with workers are also
// written to a file for people and other programs; the file is replaced atomically.
//
// # Non-guarantees
//
// Any client that may publish on the bus may announce any agent. Announcements remove nothing
// from agents of other sources: they add a queue.
//
// # Concurrency
//
// A Source is safe for concurrent use.
package announce
