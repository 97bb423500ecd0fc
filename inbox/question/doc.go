// Package question decides who answers when an agent asks back: its caller, an agent of
// the hub, a person, or nobody.
//
// A [Desk] is what the engine hands questions to. It has a [Policy] for each agent:
//
//   - Suspend leaves the question to the caller.
//   - Auto lets another agent of the hub answer, in a task of its own that is a child of
//     the one that asks, so that it belongs to the same caller and is canceled together
//     with it. It gets the question as text; the conversation so far comes before it.
//   - Ask puts the question into the inbox. The answering agent, if there is one, drafts
//     the answer, and is told that a person decides. Meanwhile the task works, and its
//     status says who is waited for.
//   - Trust is Auto for an agent that is trusted to act with the skill it was asked for,
//     and Ask for all others. Who asks is the name under which the hub knows the agent;
//     nothing that it says counts. It is the default where there is an answering agent.
//   - Fail ends the task.
//
// # Guarantees
//
// Two machines do not talk for ever, nor does one fill the inbox of a person: after
// MaxRounds answers, and when the same question got the same answer Repetition times in a
// row, whatever the case, the spacing and the punctuation, the task fails with a message
// that says so. Both are counted from the log of the task, so a restart changes nothing,
// and an agent that speaks in its caller's role changes nothing either. An answering agent
// is asked once for each question, even if the hub is killed in between: its task is found
// again, and so is the item in the inbox.
//
// Of several answers one wins. Where an inbox has [Deliver], the task decides which: the
// caller's own message, or that of a person. Who comes second at the inbox is told; the
// caller's message is then one more message of the task. A question that needs no answer
// any more is withdrawn.
//
// People do not hold up the end of a hub.
//
// # What it does not promise
//
// The counts begin anew when the caller itself says something. A peer that asks the same
// thing in other words is stopped by the number of rounds alone. Answers are text; a
// question without words goes to a person, and under Auto it ends the task. An item whose
// caller has answered while the hub was killed stays open until somebody tries to settle
// it, or its time is over. Each question that waits for a person holds its task in memory.
//
// # Concurrency
//
// A Desk holds no state and is safe for concurrent use. It starts no goroutines.
//
// # Testing
//
// Package internal/agents/scripted has an answering agent that always says the same. The zero Inbox
// and the zero trust.Book are enough for tests.
package question
