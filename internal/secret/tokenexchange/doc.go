// Package tokenexchange tells agents elsewhere whose work they do.
//
// # What it is
//
// A [Policy] says how one agent is told: by an assertion that the hub signs, by a token
// that an authorization server gives for the caller (token exchange, RFC 8693), or by the
// caller's own token. [Policy.Header] makes the header of a call. [Keys] are what the hub
// signs with, in a file of its data folder.
//
// # Guarantees
//
// A token is made for one audience. Nothing is made for callers without credentials unless
// the policy names them, and nothing from what callers can choose but as the value of a
// claim. The caller's own token goes to the agent of a policy with [Forward], and as the
// subject of an exchange to the token endpoint of a policy with [Exchange]; nowhere else.
// Neither tokens nor secrets are in errors.
//
// Keys are replaced every 90 days: the next one is published for a day before it signs, and
// the old one for a day after that, so that no verifier has to hurry. A key is on the disk
// before it is published, and no key signs that was not.
//
// Tokens from an authorization server are kept until shortly before they end, at most 1,024
// of them, those apart that differ in caller, rights or audience. Who wants one that is being
// fetched waits for it.
//
// # What it does not promise
//
// An assertion can be used again by whoever has it, at its audience and until it ends.
//
// # Concurrency
//
// All types are safe for concurrent use once their fields are set. Nothing runs by itself.
//
// # Testing
//
// Keys are tested in bubbles of fake time, exchanges against a strict server of the tests;
// internal/e2e/interop has a real authorization server.
package tokenexchange
