// Package token authenticates callers by JSON Web Tokens that somebody else has issued,
// such as an OpenID provider or an OAuth authorization server.
//
// # What it is
//
// A Verifier knows Issuers. It finds the one that a token names, has the token's
// signature checked with a key of that issuer, and makes a principal of the claims. The
// keys come from the issuer's discovery document (OpenID Connect Discovery 1.0 §4, or
// RFC 8414), from the address of a key set, or from a file. Set auth.Keyring.Tokens to a
// Verifier to take tokens beside API keys.
//
// # Guarantees
//
// Only asymmetric signatures count, by an algorithm that the issuer may use; a key that
// is bound to one algorithm is used with no other. Issuer and audience are compared
// exactly; a token without an end, or without a subject, is none. A principal's id has
// the issuer's name in front of it, so that nobody is mistaken for a caller of another
// issuer or of an API key. Roles and the organisation come from claims only as far as
// the Issuer says how; nobody becomes the owner "local".
//
// Keys are kept and read again when they grow old. A key id that is not known has the
// keys read again, once a second at the most however many ask: a token that was signed
// with a new key waits for that, and is not refused. While an issuer does not answer,
// the keys that are known stay good for a day.
//
// # What it does not promise
//
// A token that was revoked is good until its end: issue short ones. Encrypted tokens,
// opaque tokens and proofs of possession are not read.
//
// # Concurrency
//
// A Verifier is safe for concurrent use once its fields are set. It starts nothing.
//
// # Testing
//
// The tests issue tokens for real HTTP servers, in bubbles of fake time where waiting
// matters. internal/e2e/interop has a real OpenID provider.
package token
