// Package testagent is the agent that the public conformance kits of A2A talk to.
//
// A kit cannot know what an agent does, so it tells it: the TCK by how the id of a
// message begins, the ACTS files by how its first text begins. This agent knows the
// words of both. One table says what it does for each of them: complete, reject or
// fail, answer with a bare message, give artifacts of every kind, whole or in chunks,
// ask for input or for authorization, take a while, or work until it is canceled. The kit
// of v0.3, which names no behaviour, begins its ids with "test-": its tasks ask for input.
//
// # Guarantees
//
// The longest word that a message begins with counts, and one in the message id before
// one in the text. A message that begins with none completes its task; so "more" ends a
// task that asked for input. Only a conversation that was opened with "tck-multi-turn"
// goes on until somebody says "done". Nothing is kept between messages, and ids may be
// used again for other messages, as kits do.
//
// A question is a state without a message: kits count the messages of the history.
//
// # What it does not promise
//
// The agent says what the kits want to hear, and is of no use to anybody else. A task
// that works until it is canceled ends sooner if the hub has a limit for silent agents.
//
// # Concurrency
//
// The executor holds no state and is safe for concurrent use. It starts no goroutines.
//
// # Testing
//
// An executor is tested by ranging over Execute, in a synctest bubble where it takes a
// while; no hub is needed.
package testagent
