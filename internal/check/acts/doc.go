// Package acts runs conformance tests written in ACTS, the declarative format of the A2A
// project. A test lists the messages to send and the expected answers. Load reads the files of
// a folder, and a Runner runs their tests over the interfaces of a server, or for client steps
// against Parley's own client.
//
// # Guarantees
//
// All forms of the draft are supported: server, raw, client and assertion steps, streams,
// capture, repeat, delays, preconditions and runner requirements. A test that does not apply is
// skipped with a reason. A file that violates the format is refused before anything is sent.
// Every step is bounded in time.
//
// The forms that the draft's own files use beyond the draft are supported as well: "code" for
// "error_type", "items" for the elements of an array, an expectation without "body", the
// operations set_push_notification_config and so on, and taskId and contextId beside the
// message. A test that declares webhook_endpoint can read the requests to its webhook as
// "{{webhook.response}}", an array of objects with header and body; the step waits for the
// first request. "{{step.headers}}" is the header of an answer.
//
// # Non-guarantees
//
// A test that needs two streams at once is skipped. Regular expressions are those of Go: an
// expression that only ECMA-262 supports is an error of the test.
//
// # Concurrency
//
// A Runner runs one test after the other. Tests share nothing.
package acts
