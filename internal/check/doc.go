// Package check tests whether an A2A server complies with the specification, from outside and
// over every interface in its card.
//
// Run reads the card and judges the server requirement by requirement, on JSON-RPC, HTTP+JSON
// and gRPC in the versions 1.0 and 0.3. HTTP+JSON and gRPC of version 0.3 follow its proto;
// names that differ there are reported by their JSON-RPC names. Requirements returns the list.
// A result is a pass, a fail with the exchanged bytes as evidence, or "not offered": the server
// does not implement an optional feature.
//
// Requirements are documents in the folder requirements, in the language of ACTS (package
// acts), with calls, assertions, and the report's sentence for each assertion. Requirements
// without steps are Go functions.
//
// More requirements apply to an agent that implements the behaviours of the public kits. A kit
// selects a behaviour by the prefix of the message id or of the first text
// ("tck-input-required" and so on). For other agents, requirements that need such a behaviour
// are not offered.
//
// # Guarantees
//
// Every call is bounded in time and size; the check never hangs. Credentials do not appear in a
// report. The check sends about eighty short, harmless messages per interface.
//
// # Non-guarantees
//
// A pass is not a proof: the check sees only the answers to its own requests. Where 1.0.0 and
// 1.0.1 differ in a status, both are accepted, because a caller cannot select one of them.
//
// # Concurrency
//
// Run tests one interface after the other, Suite all at once. Runs are independent.
//
// # Testing
//
// The tests check a hub, which is a correct server. For each requirement there is a defect
// between the hub and the check that damages one property of the answers; the requirement must
// find it.
package check
