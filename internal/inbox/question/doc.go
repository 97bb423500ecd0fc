// Package question decides who answers a question of an agent: its caller, another agent of the
// hub, a person, or none of them.
//
// The engine passes questions to a [PolicyResponder], which has a [Policy] for each agent:
//
//   - Suspend returns the question to the caller.
//   - Auto lets another agent of the hub answer, in a child of the asking task. The child
//     belongs to the same caller and is canceled together with its parent. Its message is
//     the question as text, preceded by the conversation so far.
//   - Ask puts the question into the inbox. The answering agent, if there is one, drafts
//     the answer, and is informed that a person decides. Meanwhile the task is working, and
//     its status names the person it waits for.
//   - Trust is Auto for an agent that is trusted to act with the requested skill, and Ask
//     for all others. The agent is identified by its name in the hub, never by its own
//     claims. Trust is the default if there is an answering agent.
//   - Fail ends the task.
//
// # Guarantees
//
// Loops between two agents end, and an agent cannot fill a person's inbox. After MaxRounds
// answers the task fails with an explanation. It also fails when the same question got the same
// answer Repetition times in a row, ignoring case, spacing and punctuation. Both counts come
// from the log of the task: neither a restart nor messages in the caller's role change them. An
// answering agent is asked once for each question, even if the hub is killed in between: the
// restarted hub finds its task again, and the item in the inbox.
//
// Of several answers one wins. With [Deliver] the task decides between the caller's own message
// and the answer of a person. If the person's answer comes second, the inbox reports that. If
// the caller's message comes second, it becomes one more message of the task. A question that
// needs no answer any more is withdrawn.
//
// Questions that wait for a person do not delay the shutdown of a hub.
//
// # Non-guarantees
//
// The counts start again when the caller itself sends a message. A peer that repeats its
// question in other words is stopped only by the number of rounds. Answers are text. A question
// without text goes to a person; under Auto it ends the task. If the caller answers while the
// hub is killed, the item remains open until a person tries to settle it, or until it expires.
// Each question that waits for a person keeps its task in memory.
//
// # Concurrency
//
// A PolicyResponder holds no state and is safe for concurrent use. It starts no goroutines.
//
// # Testing
//
// Package internal/agents/scripted has an answering agent with a fixed answer. The zero Inbox
// and the zero trust.Registry are sufficient for tests.
package question
