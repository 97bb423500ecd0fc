// Package httpcall makes HTTP requests to agents of other operators.
//
// # Overview
//
// [Client] derives an http.Client from that of the caller; [ReadBounded] reads an answer, [Get]
// a whole document; [ParseURL] parses the address of an agent as a user writes it.
//
// # Guarantees
//
// [ErrUnreachable] means that no connection to the host could be made. The host has received
// nothing, so that the request can go elsewhere. Every other error leaves that open. Redirects
// are followed only within the host and the scheme of the first request, so that credentials
// stay there, and credentials are removed from error answers ([Veil]). An answer that is larger
// than its limit is [ErrTooLarge].
//
// # Non-guarantees
//
// Addresses are not checked: the caller chooses them. Nothing is sent twice.
//
// # Concurrency
//
// All functions are safe for concurrent use. Nothing is started.
package httpcall
