// Package engine admits messages, runs agents, and lets callers follow their
// tasks. It knows executors and stores; it knows no wire.
//
// Every change of a task goes one way: an event becomes an entry, task.Apply says
// what it changes, the store makes it durable, and only then anybody is told.
// Blocking calls, streams and answers are readers of the same log. A [Stream] is a
// position in it: it takes what it can from the task's tail in memory and the rest
// from the store, so that a slow reader costs nobody anything.
//
// Webhooks are further readers, with a position that is durable. The engine registers
// them at the version that a task has, and tells its [Pusher] of each change; it knows
// nothing of how they are delivered to.
//
// The store may fail and leave it unknown whether a change was stored. Before anything
// else happens to its task, the engine reads what became of it; and as soon as the
// store works again, it looks at each task of which something could not be stored, and
// does what is stored but undone: a message is read, a cancellation is carried out, a
// webhook is told. Its caller was told that it might not happen. A task that was made
// for such a caller, who does not know its id, fails; unless its message has a key, with
// which the caller can come back.
//
// Where [Idempotency] says so, a message with a key is made durable once. The key is
// stored with the message, so that a repeated one finds the first in the store, while it
// is at work or after a crash, and becomes one more reader of its task.
//
// An agent whose card requires extensions is spoken to by callers who name them, about
// its tasks as well. Executors are told which extensions are active: named by the caller
// and declared by the agent, with the card that it has when it runs. An executor may confirm
// others for its message (agent.Confirm); what it confirms is in the answer.
//
// Agents may be registered, replaced and taken out at any time. Whoever has found one
// keeps it as it was: a run ends with the agent that it began with.
//
// # Guarantees
//
// Once a caller knows a task id, the task ends or waits for the caller, whatever
// happens to the process: Run recovers what an earlier process left. Readers see
// every entry after their position, in order, once. Entries are durable before
// they are seen. A caller that goes away changes nothing. At most one run of a
// task counts: events of an older epoch are refused.
//
// # What it does not promise
//
// A run that was started and then interrupted by a crash is repeated only if its
// agent declares itself idempotent and nobody was told more than SUBMITTED and
// WORKING, or if its agent is resumable: that one goes on from its last checkpoint,
// which is stored in the change that stores the event it belongs to. Otherwise the
// task fails and says so. Effects that an agent has in the
// world are its own affair; it gets a stable key for them (agent.Call).
//
// # Concurrency
//
// All methods of Engine are safe for concurrent use. A Stream belongs to one
// goroutine. Locks are taken in the order live.write, then doubts.mu, then registry.mu,
// then live.mu, then run.mu; none is held while an executor or a caller's code runs, and
// only live.write is held while the store works. A Pusher is called with live.write
// held, so that it hears of the changes of a task, and of its webhooks, in their order.
//
// # Testing
//
// The tests run the engine on the memory store, and in bubbles of fake time where
// waiting matters.
package engine
