// Package transport has the types that a client shares with the bindings that carry its calls:
// credentials, the contract of a binding that is not HTTP, and the errors of calls.
//
// Package client calls agents. A binding, such as internal/outbound/caller for gRPC, is a [Factory]: it
// connects to an interface of an agent's card and returns a [Conn]. A failed call is an
// [*Error] if the agent reported the error, a [*Cut] if a stream broke before its task ended,
// and an [*IdentityError] if the headers of its [Identity] were unavailable.
//
// # Guarantees
//
// [Credentials] are never printed: their String, GoString, LogValue and MarshalJSON hide them.
// An [Error] has the same fields whatever the binding, and wraps the SDK's sentinel.
//
// # Non-guarantees
//
// The package makes no calls, and does not check that a token or a certificate is accepted.
//
// # Concurrency
//
// Values may be read by several goroutines while none changes them. A [Conn], a [Factory] and
// an [Identity] are safe for concurrent use.
//
// # Testing
//
// The tests of the clients and bindings that use the package cover it, and verify that no value
// of credentials is printed.
package transport
