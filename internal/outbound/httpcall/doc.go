// Package httpcall is HTTP requests to agents that somebody else runs.
//
// # What it is
//
// [Client] makes an http.Client from the one of the caller; [ReadBounded] reads an
// answer, [Get] a whole document; [ParseURL] reads what a person calls the address of an agent.
//
// # Guarantees
//
// A host that could not be connected to is [ErrUnreachable]: it has received nothing,
// so that the request can go elsewhere. Every other error leaves that open. Redirects
// are followed only within the host and the scheme of the first request, so that
// credentials stay there, and a refusal does not repeat what was shown ([Veil]). An answer that is larger than its limit is [ErrTooLarge].
//
// # What it does not promise
//
// Addresses are not checked: who is called is the caller's choice. Nothing is sent
// twice.
//
// # Concurrency
//
// All functions may be called at the same time. Nothing is started.
//
// # Testing
//
// Against servers on the loopback interface, and by the tests of card and client.
package httpcall
