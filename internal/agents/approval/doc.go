// Package approval stands in front of agents that do not do what everybody asks. It puts an
// executor around another one ([Gate.Around]) and decides for each message by the trust
// in its caller.
//
//   - At Observe and Learn the message is not passed on. It is summarised, a notice is
//     put into the inbox, and the task ends as REJECTED, or as COMPLETED with metadata
//     that says fulfilled: false.
//   - At Propose, and at Act for a skill that was not approved, an approval is put into
//     the inbox and the task says AUTH_REQUIRED. It runs when it is approved; it is
//     REJECTED when it is refused, or when nobody decides in time.
//   - At Act a skill that was approved runs at once.
//
// The owner of the hub is not gated.
//
// # Guarantees
//
// Who the caller is comes from the authenticated principal alone: what a message claims
// changes nothing. The person's item is durable before the caller is told anything. A
// restart at any moment repeats nothing and loses nothing: the same item is waited for,
// an approval that came meanwhile is found, and the agent behind the gate is executed
// again only if its traits allow it, by the rules of the hub. An approval is good for
// one message of one caller with one skill, and for the caller's answers to what the
// agent asks while it is at work with it; what is sent instead of an answer, or by
// somebody else of the same owner, is decided anew.
//
// # What it does not promise
//
// An approval that waits is a run of the hub, and takes a place among them. It ends when
// the hub drains, which need not wait for it, and goes on in the next process. An agent
// behind a gate has a kilobyte less for its checkpoints, and never answers with a bare
// message while it is gated. A summary is what an agent of the hub makes of words that
// somebody wrote whom the hub does not trust.
//
// # Concurrency
//
// A Gate and its executors are safe for concurrent use. Fields must not change once it
// is in use.
//
// # Testing
//
// The tests run gates on a real engine, in bubbles of fake time.
package approval
