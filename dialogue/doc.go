// Package dialogue decides who answers when an agent asks back: its caller, an agent of
// the hub, or nobody.
//
// A [Desk] is what the engine hands questions to. It has a [Policy] for each agent. With
// Auto another agent of the hub answers, in a task of its own that is a child of the one
// that asks, so that it belongs to the same caller and is canceled together with it. It
// gets the question as text; the conversation so far comes before it.
//
// # Guarantees
//
// Two machines do not talk for ever: after MaxRounds answers, and when the same question
// got the same answer Repetition times in a row, whatever the case, the spacing and the
// punctuation, the task fails with a message that says so. Both are counted from the log
// of the task, so a restart changes nothing. An answering agent is asked once for each
// question, even if the hub is killed in between: its task is found again.
//
// # What it does not promise
//
// The counts begin anew when the caller itself says something. A peer that asks the same
// thing in other words is stopped by the number of rounds alone. Answers are text.
//
// # Concurrency
//
// A Desk holds no state and is safe for concurrent use. It starts no goroutines.
//
// # Testing
//
// Package agent/scripted has an answering agent that always says the same.
package dialogue
