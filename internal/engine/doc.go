// Package engine admits messages, runs agents, and lets callers follow their tasks. It depends
// on executors and stores, not on a wire format.
//
// Every change of a task takes the same path: the engine converts an event to an entry,
// task.Apply computes the change, the store makes it durable, and only then readers are
// notified. Blocking calls, streams and answers are readers of the same log. A [Stream] is a
// position in it: it reads recent entries from the task's tail in memory and older ones from
// the store, so that a slow reader delays no other.
//
// Webhooks are further readers, with a durable position. The engine registers them at the
// current version of a task, and notifies its [Observer] of each change; a dispatcher delivers.
//
// The store may fail and leave it unknown whether a change was stored. Before the next change
// of its task, the engine reads from the store whether it was. When the store works again, the
// engine looks at each task with a failed change, and does the follow-up work of changes that
// turn out to be stored: it reads a message, carries out a cancellation, or notifies a webhook.
// The caller has received an error that left the outcome open. A task that was created for such
// a caller, which does not know its id, fails, unless its message has a key with which the
// caller can return.
//
// If [Idempotency] is configured, a message with a key is made durable once. The key is stored
// with the message. A repeated message finds the first one in the store, during its run or
// after a crash, and becomes one more reader of its task.
//
// An agent whose card requires extensions accepts only callers that name them, for requests
// about its tasks as well. Executors receive the active extensions: those that the caller named
// and the agent's card at the time of the run declares. An executor may confirm others for its
// message (agent.Call.Confirm); the answer lists the confirmed extensions.
//
// Agents may be registered, replaced and removed at any time. A run ends with the agent that it
// began with.
//
// # Runs
//
// A run is one execution of an agent for one message. Usually it begins after the change that
// stores the message. The first run of a task may be ahead of that change, if its agent permits it
// (agent.Traits: Pure, Away): its events wait until the message is stored, or are stored with it if
// the run has ended by then. No reader sees either before.
//
// After a run come the next message of its task, or another task that waits for a run. If the
// executor rests (execution.ErrResting), or ends because the engine drains, the claim stays stored:
// Rouse, or the next process, begins another run for the same message.
//
// # Guarantees
//
// Once a caller knows a task id, the task ends or waits for the caller, even if the process
// crashes: Run recovers the tasks of an earlier process. Readers see every entry after their
// position, in order, once. Entries are durable before readers see them. A caller that
// disconnects changes nothing. At most one run of a task counts: events of an older epoch are
// refused.
//
// # Non-guarantees
//
// A run that was interrupted by a crash is repeated only in two cases. Either its agent
// declares itself idempotent and no reader has seen more than SUBMITTED and WORKING, or its
// agent is resumable. A resumable agent continues from its last checkpoint, which is stored in
// the same change as the event it belongs to. Otherwise the task fails and states the reason.
// The engine does not undo the external effects of an agent; the agent gets a stable key for
// them (agent.Call).
//
// # Concurrency
//
// All methods of Engine are safe for concurrent use. A Stream belongs to one goroutine. Locks
// are taken in the order live.write, then reconciler.mu, then registry.mu, then live.mu, then
// run.mu; none is held while an executor or a caller's code runs, and only live.write is held
// while the store works. An Observer is called with live.write held, so that it receives the
// changes of a task, and of its webhooks, in their order.
//
// # Testing
//
// The tests run the engine on the memory store, and in bubbles of fake time where waiting
// matters.
package engine
