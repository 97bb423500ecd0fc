// Package wire calls A2A servers and keeps the exchanged bytes. It implements JSON-RPC,
// HTTP+JSON and gRPC without the SDK's client, so that callers can judge unmodified answers and
// send invalid requests on purpose.
//
// # Guarantees
//
// A call never hangs: it ends with Options.Timeout, and answers are bounded in size. Redirects
// are not followed, so a credential is only sent to the given server. A Redactor removes
// credentials from reports.
//
// # Non-guarantees
//
// The package reads leniently: the caller decides whether an answer is correct. Over gRPC there
// are no readable bytes; messages are shown as JSON.
//
// # Concurrency
//
// A Caller is safe for concurrent use. A Stream belongs to one goroutine.
package wire
