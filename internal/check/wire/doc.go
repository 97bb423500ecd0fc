// Package wire calls A2A servers and keeps the bytes. It speaks JSON-RPC, HTTP+JSON
// and gRPC by hand, without the SDK's client, so that an answer can be judged as it
// came and a wrong request can be sent on purpose.
//
// # Guarantees
//
// A call never hangs: it ends with Options.Timeout, and answers are bounded in size.
// Redirects are not followed, so a credential goes only to the server that was named.
// A Redactor takes credentials out of what is shown.
//
// # What it does not promise
//
// The package is lenient about what it reads: whether an answer is right is for the
// caller to say. Over gRPC there are no bytes to see; the message is shown as JSON.
//
// # Concurrency
//
// A Caller is safe for concurrent use. A Stream belongs to one goroutine.
//
// # Testing
//
// The tests run against small servers that answer with fixed bytes.
package wire
