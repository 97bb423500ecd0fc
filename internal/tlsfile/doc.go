// Package tlsfile keeps certificates of TLS as they are in files.
//
// # What it is
//
// [Open] reads the certificate of a server, its key, and the authorities of its clients.
// [Source.Config] makes the tls.Config of a listener of them, and [Client] that of a caller
// with a certificate of its own.
//
// # Guarantees
//
// A file that was changed is read again at a handshake, once a second at the most: there is
// no timer, and a server that nobody calls reads nothing. What is new counts for the
// connections that begin after that. New files that cannot be used, such as a certificate
// whose key has not been written yet, are logged once and change nothing. TLS 1.2 is the
// least. Where clients have certificates no session is resumed: each connection verifies
// the certificate anew, with the authorities of that time. Errors name files and never what
// is in them.
//
// # What it does not promise
//
// A connection that is open stays open, whatever becomes of the files. The authorities that
// a caller trusts are read once. Revocation is not looked at.
//
// # Concurrency
//
// A Source is safe for concurrent use, and starts nothing. One handshake reads; others go on
// with what was there.
//
// # Testing
//
// The tests shake hands over pipes in bubbles of fake time; package tlstest makes
// certificates.
package tlsfile
