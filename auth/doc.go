// Package auth authenticates callers.
//
// A [Principal] is the authenticated caller of a request. An [Authenticator] derives it from
// the credentials; the principal is passed in the context, and never read from a payload. It
// determines the owner of a task.
//
// A [Keyring] is the Authenticator of a hub with API keys:
//
//	ring := &auth.Keyring{Store: db.Keys()}
//	err := ring.Load(ctx)
//	key, text := auth.NewKey(auth.Principal{ID: "partner"}, time.Now())
//	err = ring.Add(ctx, key) // text is for the caller, once
//
// # Guarantees
//
// A key has 256 random bits. Only its SHA-256 is stored and compared. Since the key cannot be
// guessed, no slow hash is needed; since hashes are compared, the duration of a lookup reveals
// nothing about other keys. Errors and logs contain at most the beginning of a key.
//
// A key with the role [RoleBus] is for workers at the hub's own bus, and never for callers
// ([Keyring.Worker]).
//
// A Keyring that has had a key for callers never opens again: revoking the last key locks out
// all callers. An added key is accepted, and a revoked one refused, for every request that
// begins after the change was stored; a request that lasts ends with its key. Two keys of one principal may overlap, so a key can be
// replaced without a gap: add the new one, and revoke the old one after a day.
//
// All callers with missing or wrong credentials get the same error. Failures are logged with
// address and reason, at most 50 in ten seconds. From the sixth failure in a minute, answers to
// one address (64 bits of an IPv6 address) are delayed, by 50 ms doubling up to a second. At
// most 64 answers are delayed at one time; further callers are asked to retry later. A valid
// key is never delayed.
//
// # Non-guarantees
//
// Webhooks of a caller whose key was revoked stay. Delays make guessing noisy, not impossible: a
// key that an operator chooses must itself be hard to guess. Behind a proxy all callers have the
// address of the proxy.
//
// While a Keyring is off it accepts callers on this machine. A web page in a local browser is
// such a caller, and so is every client behind a local proxy. The command "parley serve" checks
// Host and Origin against pages; a program that embeds a hub should give its Keyring a key
// before it serves.
//
// # Concurrency
//
// A Principal is immutable after it was returned. Authenticators are called concurrently. A
// Keyring is safe for concurrent use.
//
// # Testing
//
// An Authenticator accepts a [Request], which tests can construct directly. Delays use package
// time and can be tested in a bubble of testing/synctest.
package auth
