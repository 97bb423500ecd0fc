// Package check finds out whether an A2A server keeps to the specification, from
// outside and over every interface that its card offers.
//
// Run reads the card and judges the server requirement by requirement, on JSON-RPC,
// HTTP+JSON and gRPC in the versions 1.0 and 0.3. HTTP+JSON and gRPC of version 0.3 are
// those of its proto; what has another name there is judged by the name of JSON-RPC. Requirements lists
// what is judged. A result is a pass, a fail with the bytes that show it, or not
// offered: the server does not do what the requirement is about, and need not.
//
// Requirements are documents in the folder requirements, in the words of ACTS (package
// acts): the calls, the assertions, and the sentence of the report for each. Those without
// steps are functions.
//
// An agent shows more of itself if it knows the behaviours that the public kits ask
// for, by the prefix of the message id or of the first text ("tck-input-required" and
// so on). Requirements that need such a behaviour are not offered by other agents.
//
// # Guarantees
//
// Every call is bounded in time and size; nothing hangs. Credentials do not appear in
// a report. A server is sent some eighty short messages per interface, all of them
// harmless.
//
// # What it does not promise
//
// A pass is not a proof: the check sees what it asked for. Where 1.0.0 and 1.0.1
// differ in a status, both are accepted, since a caller cannot ask for one of them.
//
// # Concurrency
//
// Run works through one interface after the other, Suite through all at once. Runs are
// independent.
//
// # Testing
//
// Package checktest has a small server that does everything right, and defects that
// each break one thing. For each requirement there is a defect that it finds.
package check
