// Package certificate authenticates callers by the certificates of their connections
// (mutual TLS).
//
// # What it is
//
// Rules say who calls with a certificate: whoever has one with a certain name, or each
// holder of a certificate of an authority, under the name that stands in it. Set
// auth.Keyring.Certificates to Rules to take certificates beside API keys and tokens.
//
// # Guarantees
//
// Only certificates count that the handshake of the connection has verified; no header
// stands for one. Names are compared byte by byte as they stand in the certificate, each
// with those of its own field: a common name is never taken for a DNS name, a wildcard
// stands for itself, and a name in capital letters, with a dot or a NUL at its end is
// another one. A rule with authorities believes no others. Where the name in a certificate
// becomes the name of the caller, the certificate has exactly one of that field, in plain
// characters. A certificate is looked at for each request: once it has ended, it is good
// for nothing, on a connection that was open before as well.
//
// # What it does not promise
//
// Revocation is not looked at: issue certificates that end soon, or take the rule away.
// Whoever may issue for an authority that rules believe may be any of its callers.
//
// # Concurrency
//
// Rules must not change once they are in use. Their methods may be called at the same
// time. Nothing is started.
//
// # Testing
//
// The tests make authorities and certificates, and verify them as a handshake does; those
// of internal/cli shake hands.
package certificate
