// Package card reads and writes agent cards: the documents that describe the skills of an agent
// and its addresses. It writes the cards of a hub's own agents. It finds and reads the cards of
// other agents.
//
// # Overview
//
// [JSON] converts the card that an embedder registered into the exact document of one [Layout].
// The registered card describes the agent: its name, skills and modes. [Options] adds the facts
// that only the hub knows: the addresses, the hub's capabilities, and the credentials that it
// demands. [Interfaces] lists the hub's addresses of an agent.
//
// [Complete] returns the same card as a value. [Extend] returns the card for callers who may
// see more than the public one.
//
// [Read] converts a card of any layout to one of v1.0, and keeps the original document. [Fetch]
// finds the card of an agent and reads it.
//
// # Guarantees
//
// Every field that the protocol requires is present, even if the registered card lacks it, and
// a required list is never null (specification §4.4, §5.7). The layout [V1] has only keys of
// the protocol's schema, unless Options.BareScopes selects the spelling of the Go SDK. Equal
// input gives equal bytes, so a hash of them can be an entity tag.
//
// Read skips the unreadable parts of a card and accepts the rest. The error for a document that
// is no card states the reason. Fetch limits the size of a card and the time for it, and
// accepts a card only from the requested host.
//
// # Non-guarantees
//
// Interfaces and signatures of the registered card are dropped: calls go through the hub, and a
// signature over another document proves nothing. Options.Sign creates new ones.
//
// Received cards are not verified (package internal/secret/signature does that), not cached,
// and not trusted: the reader decides whether to call an address in a card. Unknown security
// schemes are dropped, and of several OAuth flows all but one.
//
// # Concurrency
//
// All functions may be called concurrently. They do not change the cards passed to them, except
// that Card.SetFrom changes its receiver.
//
// # Testing
//
// The documents of the tests are golden files; -update writes them again. Tests read every
// written card back. The reader has a fuzz target.
package card
