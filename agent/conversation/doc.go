// Package conversation makes a conversation an agent: whoever can answer in a conversation
// answers the tasks of a context, one after the other.
//
// # What it is
//
// An [Agent] is an executor. For the first message of a context it calls an [Opener], which
// opens a [Conversation] or goes on with one; further messages of the same caller and
// context go to the same Conversation. What the Conversation replies is the artifact of the
// task. It may ask the caller, or let the caller perform tools ([Reply].Calls): then the task
// waits, and the answer goes to the Conversation.
//
// A Conversation that can do more says so: a [Streamer] says its replies in pieces, a
// [Resumer] goes on with the results of tools.
//
// # Guarantees
//
// One message at a time: messages of a context wait for each other. Conversations of two
// callers never meet, whatever contexts they name. One that nobody has spoken in for
// Agent.Idle is closed, and so is one that has returned an error; the next message opens it
// again. The calls that a task waits for are read from the task itself, so that their
// results find a Conversation also after a restart of the hub ([Opening].Pending). A call
// that the caller does not answer counts as rejected, and a result of no call is asked for
// again.
//
// # What it does not promise
//
// What a Conversation remembers beyond that is its Opener's business. A run that a crash has
// interrupted is not repeated.
//
// # Concurrency
//
// An Agent is safe for concurrent use. It starts no goroutine but the one that closes an idle
// Conversation, for which Close waits. A Conversation is used by one goroutine at a time.
//
// # Testing
//
// The tests run conversations behind a hub, with a clock of their own, and over a restart.
package conversation
