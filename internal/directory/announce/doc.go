// Package announce knows the agents that announce themselves on a bus.
//
// # What it is
//
// A [Book] is a source of the directory: it hears what workers say at job.Discovery, and
// keeps each agent with what it says of itself, and the workers that are there. When it
// begins to listen, and each time that a lost connection is mended, it asks all workers to
// announce themselves.
//
// # Guarantees
//
// What was announced is stored, so that an agent can be called after a restart of the hub,
// also while no worker runs. An agent that was not announced for 24 hours is forgotten; one
// whose last worker has left stays until then, because messages wait for it. With File set,
// the same is in a file that people and other programs read, which is replaced as a whole.
//
// # What it does not promise
//
// Whoever may publish on the bus may announce any agent. Announcements take nothing from
// agents that the hub knows from elsewhere: they add a queue.
//
// # Concurrency
//
// A Book is safe for concurrent use.
//
// # Testing
//
// The tests use bus.Memory and fake time.
package announce
