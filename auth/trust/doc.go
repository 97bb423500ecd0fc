// Package trust says how far the hub trusts who calls it, and whom it calls.
//
// Everybody is at a [Level]: [Observe], [Learn], [Propose] or [Act]. At Act, what they
// are trusted with are the skills that were approved ([Entry.Allows]). A [Book] has an
// [Entry] for each who was seen or was given a level: the id of a principal, or the name
// of an agent. A file in the form of agent-trust.json can decide instead ([ParseFile],
// [Book.Follow]). Package gate does what levels mean.
//
// # Guarantees
//
// Who is not known is at Observe, without skills. A level or a list of skills that makes
// no sense counts as the least. A change is durable before it counts, and counts for the
// next call. Names are compared exactly, skills without regard to case.
//
// # What it does not promise
//
// A Book counts the contacts that it is told of (Book.Contact). They are counted in memory and stored together every few seconds, so that a call
// costs no write: a killed process forgets the last of them. Beyond 10,000 entries new
// contacts are not noted; they are at Observe all the same. Whom a name belongs to is for
// those who authenticate callers and register agents to say: one name is one entry.
//
// # Concurrency
//
// A Book is safe for concurrent use. Load comes before everything else, and Run stores
// contacts until its context ends.
//
// # Testing
//
// The zero Book keeps its entries in memory.
package trust
