// Package directory keeps the list of agents: agents configured in files, agents registered by
// callers, and the agents of the hub itself.
//
// # Overview
//
// A [Source] supplies the configuration of an agent, a [Spec]. The agent's card supplies the
// rest: the [Directory] fetches the card every ten minutes and probes each agent every minute.
// Spec and card together form an [Entry]. The Spec takes precedence over the card. A skill
// named in the Spec remains when the card drops it; other skills follow the card. A
// [Registrar], the engine of the hub, makes the agents callable.
//
// Agents and MCP servers share one search index, see package bm25.
//
// # Guarantees
//
// An agent that does not answer remains listed and callable. The directory probes it again
// after one second, then at growing intervals of up to one minute. The last known card is kept,
// also across a restart of the hub.
//
// An error in a source removes no agent: agents named before remain until the source is valid
// again. Each problem is logged once and reported by [Directory.Problems].
//
// Card texts are untrusted: invisible characters are removed, and texts or lists over the
// limits are cut, with a note in [Entry].Problems. The addresses in a card are not called
// unless the Spec allows it. Agents registered by callers are marked ([Spec].Guarded): the hub
// reaches them at public addresses only, and seals their credentials for their name and
// address. No text form of [Credentials] contains the values.
//
// # Non-guarantees
//
// A recent answer does not prove that an agent works. Cards are not trusted: the name in a card
// is not a name in the hub.
//
// # Concurrency
//
// A Directory is safe for concurrent use. A published Entry is never changed. Locks are
// acquired in the order agent.checking, changing, mu. The Registrar and the Store are called
// with changing held, the Fetcher with checking held.
package directory
