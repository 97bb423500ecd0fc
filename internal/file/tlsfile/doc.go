// Package tlsfile loads TLS certificates from files and reloads changed files.
//
// # How it works
//
// [Open] reads the certificate of a server, its key, and the authorities of its clients.
// [Source.Config] creates the tls.Config of a listener from them, and [Client] creates that of
// a client with a certificate of its own.
//
// # Guarantees
//
// A changed file is read again at a handshake, at most once a second, and by [Source.Reload]. New files apply to connections that begin
// afterwards. New files that are invalid, such as a certificate whose key has not been written
// yet, are logged once and change nothing. The minimum version is TLS 1.2.
//
// With client certificates no session is resumed: each connection verifies the certificate
// anew, with the current authorities and revocation lists. [Source.Good] repeats that for
// connections that stay open. A certificate is refused if it, or one above it, is on a list.
// Every certificate of an authority with an expired list is refused as well, because later
// revocations are unknown. A list that was issued before the one in force, by its number or else
// its time, is ignored. Errors name files and never contain their content.
//
// # Non-guarantees
//
// An open connection stays open, regardless of changes to the files. After a start, the lists in the
// file are the first ones, however old. The authorities that a
// client trusts are read once. Certificates of authorities without a list are accepted, and no
// revocation service is queried for the certificates that a client verifies. Lists are not
// downloaded: another program must update the file. Partial lists (deltas, or those of one
// reason) are refused. A list applies to each authority of its name, regardless of the key that
// has signed it.
//
// # Concurrency
//
// A Source is safe for concurrent use and starts no goroutines. One handshake reads the files;
// others continue with the previous content.
package tlsfile
