// Package auth says who a caller is.
//
// A [Principal] is the authenticated caller of a request. It comes from an
// [Authenticator], travels in the context, and is never taken from a payload. The
// owner of a task is derived from it.
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
// A key is 256 random bits. Only its SHA-256 is kept, and compared: since the key
// cannot be guessed, no slow hash is needed, and since hashes are compared, the time
// that a lookup takes tells nothing about other keys. Neither errors nor logs hold
// more of a key than its beginning.
//
// A key with the role [RoleBus] is for workers at the hub's own bus, and never for callers
// ([Keyring.Worker]).
//
// A Keyring that has had a key for callers never opens again: revoking the last key locks
// everybody out. Added keys are good, and revoked ones useless, for every request
// that begins after the change was stored. Two keys of one principal may overlap, so
// a key is replaced without a gap: add the new one, revoke the old one after a day.
//
// Everybody whose credentials are missing or wrong is told the same. Failures are
// logged with address and reason, at most 50 in ten seconds. From the sixth failure
// in a minute the answers to one address (64 bits of an IPv6 address) are delayed,
// 50 ms doubling to a second; not more than 64 answers wait at one time, and those
// beyond are told to come back later. A good key is never delayed.
//
// # What it does not promise
//
// A stream that is open when its key expires or is revoked stays open. Delays make
// guessing noisy, not impossible: a key that an operator chooses must itself be hard
// to guess. Behind a proxy all callers have the address of the proxy.
//
// While a Keyring is off it accepts callers on this machine, and a web page can make
// a browser one of these, and a proxy everybody. The command "parley serve" checks
// Host and Origin against pages; a program that embeds a hub gives its Keyring a key
// before it serves.
//
// # Concurrency
//
// A Principal is immutable once it was handed out. Authenticators are called
// concurrently. A Keyring is safe for concurrent use.
//
// # Testing
//
// An Authenticator takes a [Request], which is easily made. Delays use package time
// and can be tested in a bubble of testing/synctest.
package auth
