// Package signature signs agent cards and verifies those of others (specification §8.4).
//
// # What it is
//
// Sign adds signatures to the v1.0 document of a card; JWKS is the set of public keys
// that their readers ask for. A Verifier checks a card that was received against keys
// that were pinned, and key sets whose addresses were allowed.
//
// # Guarantees
//
// A signature is made over the form that the specification describes and, where it
// differs, over the one that the official SDKs of Python and JavaScript make, so that
// each of them verifies the card; the same card, signed with the same key, gets the same
// bytes each time. ES256, EdDSA (Ed25519) and RS256 are signed and verified, and nothing
// else: no "none", no key that two parties share, no RSA key of less than 2048 bits.
//
// Who signs does not choose whom to believe: an address of keys that a card names is
// asked only if it was allowed. What was signed is what counts: Verify returns the
// document that the signature covers, without any field that anybody could have added.
//
// # What it does not promise
//
// A signature says that the holder of a key has made the card. It does not say that the
// card is true, that the agent is good, or that the card is the newest one.
//
// # Concurrency
//
// Sign is pure. A Verifier is safe for concurrent use once its fields are set.
//
// # Testing
//
// testdata has cards that the official SDKs have signed, and internal/e2e/interop lets
// them verify those of Parley.
package signature
