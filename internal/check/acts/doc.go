// Package acts runs conformance tests that are written in ACTS, the declarative format
// of the A2A project: which message to send, and what to expect of the answer.
//
// Load reads the files of a folder, and a Runner runs their tests over the interfaces
// of a server, or for client steps against Parley's own client.
//
// # Guarantees
//
// All forms of the draft are understood: server, raw, client and assertion steps,
// streams, capture, repeat, delays, preconditions and runner requirements. A test that
// does not apply is skipped with a reason. A file that does not keep to the format is
// refused before anything is sent. Every step is bounded in time.
//
// Beyond the draft, the forms that its own files use are understood: "code" for
// "error_type", "items" for the elements of an array, an expectation without "body",
// the operations set_push_notification_config and so on, and taskId and contextId
// beside the message. A test that declares webhook_endpoint can look at what its
// webhook was told as "{{webhook.response}}", an array of requests with header and
// body; the step waits for the first. "{{step.headers}}" is the head of an answer.
//
// # What it does not promise
//
// A test that needs two streams at once is skipped. Regular expressions are those of
// Go: an expression that only ECMA-262 has is an error of the test.
//
// # Concurrency
//
// A Runner runs one test after the other. Tests share nothing.
//
// # Testing
//
// The tests run documents against the server of package checktest. The draft's own
// files are read as well, where they are present.
package acts
