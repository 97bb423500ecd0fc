// Package approval wraps agents that must not act for every caller. [Wrapper.Wrap] wraps an
// executor. For each message the gate decides by the trust in the caller:
//
//   - At Observe and Learn the message is not passed on. It is summarized, a notice is put into
//     the inbox, and the task ends as REJECTED, or as COMPLETED with metadata that says
//     fulfilled: false.
//   - At Propose, and at Act for a skill that was not approved, an approval is put into the
//     inbox and the task waits as AUTH_REQUIRED. The agent runs once the approval is granted.
//     The task is REJECTED if the approval is refused or expires. With NoApprovals the message
//     is treated as at Observe.
//   - At Act an approved skill runs at once.
//
// The gate does not apply to the owner of the hub.
//
// # Guarantees
//
// The authenticated principal alone identifies the caller: claims in a message have no effect.
// The item for the owner is durable before the caller receives any status. A restart at any
// time repeats nothing and loses nothing: the gate waits for the same item again and finds an
// approval granted meanwhile. The wrapped agent is executed again only if its traits allow
// that, by the rules of the hub. An approval is valid for one message of one caller with one
// skill, and for the caller's answers to questions of the agent while it works on that message.
// Any other message, or one of another caller with the same owner, needs a new decision.
//
// # Non-guarantees
//
// A waiting approval is a run of the hub and counts towards its limit. It ends when the hub
// drains, which need not wait for it, and continues in the next process. A wrapped agent has a
// kilobyte less for its checkpoints, and never answers with a bare message. An agent of the hub
// writes the summary from untrusted text.
//
// # Concurrency
//
// A Wrapper and its executors are safe for concurrent use. Fields must not change once it is in
// use.
package approval
