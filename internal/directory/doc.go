// Package directory knows which agents there are: those that stand in files, those that
// callers have registered, and those of the hub itself.
//
// # What it is
//
// A [Source] says of an agent what it knows, which is a [Spec]. The agent's card says the
// rest: the [Directory] reads it, and again every ten minutes, and asks each agent every
// minute whether it still answers. Both together are an [Entry]. What its source says
// wins; a skill that a source names stays when the card has it no longer, while others go
// with the card. A [Registrar], which is the engine of the hub, makes the agents callable.
//
// Everything can be searched, together with MCP servers, see package search.
//
// # Guarantees
//
// An agent that does not answer is there all the same, can be called, and is asked again
// soon, then less and less often, up to once a minute. What it was known to be able to do
// before is kept, also when the hub is started anew.
//
// A mistake in a source takes nothing away: agents that it has named before stay until it
// is right again. Whatever is wrong is logged once, and is there to be asked for.
//
// Texts of cards are a stranger's: characters that do not show are taken out, and what is
// too long or too much is cut and noted. The addresses in a card are not called, unless
// the Spec says so. Agents that callers have registered are marked ([Spec].Guarded), so
// that they are reached at public addresses only, and their credentials are sealed for
// their name and address. No text form of [Credentials] has the values in it.
//
// # What it does not promise
//
// That an agent has answered a moment ago does not mean that it works. Cards are not
// believed: a name in a card is none in the hub.
//
// # Concurrency
//
// A Directory is safe for concurrent use. An Entry is not changed once it was given out.
// Locks are taken in the order agent.checking, changing, mu. The Registrar and the Store
// are called with changing held, the Fetcher with checking.
//
// # Testing
//
// The tests have agents that answer over HTTP, well and badly, and bubbles of fake time
// where waiting matters.
package directory
