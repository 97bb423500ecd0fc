// Package card writes agent cards: the documents by which callers find out what an
// agent can do and where it is reached.
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
// # Guarantees
//
// Every field that the protocol requires is present, also when the registered card
// leaves it out, and a required list is never null (specification §4.4, §5.7). The
// layout [V1] has no key that the protocol's schema does not know, unless
// Options.BareScopes asks for the spelling of the Go SDK. Equal input
// gives equal bytes, so that a hash of them can be an entity tag.
//
// # What it does not promise
//
// Interfaces and signatures of the registered card are left out: calls go through
// the hub, and a signature over another document proves nothing.
//
// # Concurrency
//
// All functions may be called at the same time. They only read the card that they
// are given.
//
// # Testing
//
// The documents of the tests are golden files; -update writes them again.
package card
