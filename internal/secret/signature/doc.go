// Package signature signs agent cards and verifies the signatures of other agents' cards
// (specification §8.4).
//
// # Overview
//
// Sign adds signatures to the v1.0 document of a card; JWKS returns the set of public keys for
// verifiers. A Verifier checks a received card against pinned keys, and against key sets at
// allowed addresses.
//
// # Guarantees
//
// A card is signed in the form of the specification and, where it differs, in the form of the
// official SDKs of Python and JavaScript, so that all of them can verify it. Signing the same
// card with the same key gives the same bytes. The only algorithms are ES256, EdDSA (Ed25519)
// and RS256: "none", shared keys, and RSA keys below 2048 bits are refused.
//
// A card cannot choose the keys that verify it: the address of a key set in a card is fetched
// only if it is allowed. Verify returns the document that the signature covers, without any
// field that others could have added.
//
// # Non-guarantees
//
// A signature proves that the holder of a key has issued the card. It does not prove that the
// card is true, that the agent works, or that the card is the latest one.
//
// # Concurrency
//
// Sign is a pure function. A Verifier is safe for concurrent use once its fields are set.
package signature
