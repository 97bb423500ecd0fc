// Package trust keeps the trust levels of the hub's callers and agents.
//
// Every caller and agent has a [Level]: [Observe], [Learn], [Propose] or [Act]. At Act, only
// approved skills are performed without asking ([Entry.Allows]). A [Registry] holds an [Entry] for
// each id of a principal, and each name of an agent, that has contacted the hub or was given a
// level. A file in the form of agent-trust.json can override levels and skills ([ParseFile],
// [Registry.Follow]). Package gate enforces the levels.
//
// # Guarantees
//
// An unknown caller or agent is at Observe, without skills. An invalid level or list of skills
// counts as the lowest. A change is durable before it takes effect, and takes effect for the
// next call. Names are compared exactly, skills without regard to case.
//
// # Non-guarantees
//
// A Registry counts only the contacts reported with Registry.RecordContact. They are counted in
// memory and stored together every few seconds, so that a call causes no write: a killed process
// loses the last of them. Beyond 10,000 entries new contacts are not recorded; their level is
// Observe in any case. A Registry does not verify identities: authentication and the
// registration of agents decide who owns a name. One name is one entry.
//
// # Concurrency
//
// A Registry is safe for concurrent use. Load must be called first, and Run stores contacts until
// its context ends.
//
// # Testing
//
// The zero Registry keeps its entries in memory.
package trust
