// Package certificate authenticates callers by the certificates of their connections (mutual
// TLS).
//
// # Overview
//
// Rules map certificates to callers: either a certificate with a given name to one caller, or
// each certificate of an authority to a caller named after the certificate. Set
// auth.Keyring.Certificates to Rules to accept certificates beside API keys and tokens.
//
// # Guarantees
//
// Only certificates verified by the TLS handshake of the connection are accepted; no header
// replaces them. Names are compared byte by byte, and only with the same field: a common name
// is never compared with a DNS name. A wildcard matches only itself, and a name that differs in
// case, or by a dot or NUL at its end, is a different name. A rule with authorities trusts no
// others. If the name in a certificate becomes the name of the caller, the certificate must
// have exactly one value of that field, in plain characters. A certificate is checked for each
// request: an expired one is refused, even on a connection that was opened before.
//
// # Non-guarantees
//
// Rules do not check revocation: package internal/file/tlsfile does, in the handshake, if the
// hub has revocation lists (tls.client_crl). An authority that rules trust can issue
// certificates for any of its callers.
//
// # Concurrency
//
// Rules must not change after the first call. Their methods may be called concurrently. They
// start no goroutines.
package certificate
