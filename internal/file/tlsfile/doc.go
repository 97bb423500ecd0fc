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
// the certificate anew, with the authorities and the revocation lists of that time; [Source.Good]
// does so again later, for connections that stay open. A certificate that is on a list, or
// that is below one that is, is refused, and so is every certificate of an authority whose
// list has ended: nobody knows what it has revoked since. Errors name files and never what
// is in them.
//
// # What it does not promise
//
// A connection that is open stays open, whatever becomes of the files. The authorities that
// a caller trusts are read once. Authorities without a list are believed, and those whose
// certificates a caller verifies are not asked. Nothing is fetched: lists are put into the file
// by somebody else. Partial lists (deltas, those of one reason) are not read. A list counts for
// each authority of its name, whichever key has signed it.
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
