// Package token authenticates callers by JSON Web Tokens of another issuer, such as an OpenID
// provider or an OAuth authorization server.
//
// # Overview
//
// A Verifier has Issuers. It finds the issuer of a token, verifies the signature with a key of
// that issuer, and derives a principal from the claims. The keys come from the issuer's
// discovery document (OpenID Connect Discovery 1.0 §4, or RFC 8414), from the address of a key
// set, or from a file. Set auth.Keyring.Tokens to a Verifier to accept tokens beside API keys.
//
// # Guarantees
//
// Only asymmetric signatures with a permitted algorithm are accepted; a key that is bound to
// one algorithm is used with no other. Issuer and audience are compared exactly. A token
// without an expiry or a subject is refused. The id of a principal begins with the name of its
// issuer, so that it cannot equal the id of a caller of another issuer or of an API key. Roles
// and organisations are derived from claims only as configured in the Issuer; no token gives
// the owner "local".
//
// Keys are cached and read again when they grow old. An unknown key id triggers another read,
// at most once a second regardless of the number of callers: a token signed with a new key
// waits for the read, and is not refused. While an issuer does not answer, its known keys
// remain valid for a day.
//
// # Non-guarantees
//
// A revoked token is accepted until it expires: issue short-lived ones. Encrypted tokens,
// opaque tokens and proofs of possession are not supported.
//
// # Concurrency
//
// A Verifier is safe for concurrent use once its fields are set. It starts no goroutines.
//
// # Testing
//
// The tests issue tokens with real HTTP servers, in bubbles of fake time (testing/synctest)
// where delays matter. internal/e2e/interop tests against a real OpenID provider.
package token
