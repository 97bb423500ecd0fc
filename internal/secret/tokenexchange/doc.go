// Package tokenexchange identifies the callers of the hub to remote agents.
//
// # Overview
//
// A [Policy] selects the method for one agent: an assertion signed by the hub, a token from an
// authorization server (token exchange, RFC 8693), or the caller's own token. [Policy.Header]
// returns the header of a call. [Keys] are the hub's signing keys, stored in a file of its data
// folder.
//
// # Guarantees
//
// A token is issued for one audience. No token is issued for callers without credentials,
// unless the policy sets Anonymous. Data chosen by callers appears only as values of claims.
// The caller's own token is sent only to the agent of a policy with [Forward], and as the
// subject of an exchange to the token endpoint of a policy with [Exchange]. Errors contain
// neither tokens nor secrets.
//
// Keys are replaced every 90 days: the next one is published for a day before it signs, and the
// old one for a day after that, so that verifiers may cache key sets. A key is stored before it
// is published, and published before it signs.
//
// Tokens from an authorization server are cached until shortly before they expire, at most
// 1,024 of them, separately for each caller, set of rights and audience. Callers that need a
// token that is being fetched wait for it.
//
// # Non-guarantees
//
// An assertion can be reused by any holder, at its audience and until it expires.
//
// # Concurrency
//
// All types are safe for concurrent use once their fields are set. The package starts no
// background work.
package tokenexchange
