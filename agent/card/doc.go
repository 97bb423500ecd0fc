// Package card is agent cards: the documents by which callers find out what an agent
// can do and where it is reached. It writes those of a hub's own agents, and finds and
// reads those of others.
//
// # What it is
//
// [JSON] turns the card that an embedder registered into the exact document of one
// [Layout]. The registered card says what the agent is: its name, skills and modes.
// Where it is reached, what the hub can do for it and which credentials the hub asks
// for comes from [Options], because only the hub knows that; [Interfaces] lists the
// hub's own ways to an agent.
//
// [Complete] is the same card as a value, and [Extend] makes the card for callers who
// may see more than the public one says.
//
// [Read] is the other direction: a card of any layout becomes one of v1.0, beside the
// document as it came. [Fetch] finds it.
//
// # Guarantees
//
// Every field that the protocol requires is present, also when the registered card
// leaves it out, and a required list is never null (specification §4.4, §5.7). The
// layout [V1] has no key that the protocol's schema does not know, unless
// Options.BareScopes asks for the spelling of the Go SDK. Equal input
// gives equal bytes, so that a hash of them can be an entity tag.
//
// Readers are liberal: a part of a card that nobody can read is left out, and costs
// nothing else. What is no card is said clearly. A card is bounded in size and time,
// and comes from the host that was asked.
//
// # What it does not promise
//
// Interfaces and signatures of the registered card are left out: calls go through
// the hub, and a signature over another document proves nothing. Options.Sign makes
// new ones.
//
// Received cards are not verified (package internal/secret/signature does that), not cached, and not believed: whether to call an
// address that a card names is for its reader to say. Security schemes that nobody
// knows are left out, and of several OAuth flows all but one.
//
// # Concurrency
//
// All functions may be called at the same time. They only read the card that they
// are given.
//
// # Testing
//
// The documents of the tests are golden files; -update writes them again. What is
// written is read back. The reader has a fuzz target.
package card
