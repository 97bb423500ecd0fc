// Package conversation turns a conversation API into an agent. The tasks of a context are turns
// of one conversation and are answered one after the other.
//
// # Overview
//
// An [Agent] is an executor. For the first message of a context it calls an [Opener], which
// opens a [Conversation] or continues a stored one. Further messages of the same caller and
// context go to the same Conversation. The reply of the Conversation becomes the artifact of
// the task. The Conversation may ask the caller a question, or let the caller perform tools
// ([Reply].Calls). The task then waits, and the answer goes to the Conversation.
//
// A Conversation may implement further interfaces: a [Streamer] sends its replies in pieces, a
// [Resumer] continues with the results of tools.
//
// # Guarantees
//
// One message at a time: messages of a context wait for each other. Two callers never share a
// Conversation, whatever contexts they name. The Agent closes a Conversation after Agent.Idle
// without a message, and after an error; the next message opens it again. The Agent reads the
// calls that a task waits for from the task itself, so their results reach a Conversation also
// after a restart of the hub ([Opening].Pending). A call that the caller does not answer counts
// as rejected. If a result belongs to no call, the Agent asks for the results again.
//
// # Non-guarantees
//
// The Opener is responsible for any other state of a Conversation. A run that a crash has
// interrupted is not repeated.
//
// # Concurrency
//
// An Agent is safe for concurrent use. Its only goroutines close idle conversations; Close
// waits for them. A Conversation is used by one goroutine at a time.
//
// # Testing
//
// The tests run conversations behind a hub, with fake time, and across a restart.
package conversation
