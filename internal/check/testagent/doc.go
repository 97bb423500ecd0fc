// Package testagent is the agent for the public conformance kits of A2A.
//
// A kit does not know the behaviour of an agent, so it requests one: the TCK by the prefix of
// the message id, the ACTS files by the prefix of the first text. This agent supports the words
// of both. One table lists its behaviour for each word: complete, reject or fail, answer with a
// bare message, send artifacts of every kind, whole or in chunks, ask for input or for
// authorization, take a while, or work until it is canceled. The kit of v0.3, which names no
// behaviour, begins its ids with "test-": its tasks ask for input.
//
// # Guarantees
//
// The longest word that a message begins with counts, and a word in the message id takes
// precedence over one in the text. A message without a word completes its task; so "more" ends
// a task that asked for input. Only a conversation opened with "tck-multi-turn" continues until
// the caller sends "done". Nothing is stored between messages, and ids may be reused for other
// messages, as kits do.
//
// A question is a state without a message, because kits count the messages of the history.
//
// # Non-guarantees
//
// The agent answers as the kits expect and has no other use. A task that works until it is
// canceled ends sooner if the hub has a limit for silent agents.
package testagent
