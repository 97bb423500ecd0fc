// Package remote turns an agent of another operator, reached over A2A, into an agent of the
// hub.
//
// # Overview
//
// An [Agent] is an executor. It forwards the caller's message in the A2A dialect of the other
// agent. It passes on the statuses and artifacts of the answer, chunk by chunk, as JSON without
// decoding their contents. A task that waits for input or for a permission waits here as well,
// and the caller's next message continues the same remote task. An answer that is a bare
// message stays one.
//
// # Guarantees
//
// A run resumes after a crash of the hub. Its position (the remote task, and the last event of
// its stream) is a checkpoint, which is stored atomically with the event that it belongs to.
// After a crash before the first event, the hub searches for the message at the agent: the ids
// of the message and its context are derived from the task, so they are known. If it remains
// unknown whether the message has arrived, it is resent only to an agent that is declared
// idempotent; otherwise the task fails with that reason. If a further message did not arrive,
// the task waits again with the same question.
//
// A broken connection loses and repeats nothing: a snapshot of the task is compared with the
// events that were passed on, and only the difference is passed on.
//
// An agent that cannot be reached is tried three times, within ten seconds; then the task
// fails. One that is [Agent.Awaited] is tried until the deadline, also by the runs after a
// crash, as long as the checkpoint states that nothing of the message was sent. Once an agent
// has accepted the message, it is tried until the deadline. At the deadline its task is
// canceled. A caller who cancels gets the agent's answer to the cancellation.
//
// A snapshot that still shows the question which the message answers is not passed on as a new
// question. The final status of a task is passed on when
// the agent has ended its stream, or has sent nothing for a second, so that artifacts after
// that status are not lost. If an agent sends more than 1,000 events or continues for more than
// five seconds after it, the stream is abandoned, which is logged.
//
// A task that a message refers to gets the agent's id of it, if the agent has performed it for
// the same caller. Any other id, and each after the sixteenth, is passed on unchanged.
//
// The extensions that the caller has named are named to the agent. The agent's answer to the
// message states which of them are active: in the header A2A-Extensions, over gRPC in the
// metadata of its header or trailer. If the answer names none, or does not arrive, none is
// active.
//
// The caller's ids are not sent to the agent: contexts and messages have other ids there. They
// are the same for the same caller and agent, and never the same for two callers.
//
// # Non-guarantees
//
// Fields of a task, an event or a status that the protocol does not define are dropped; those
// inside messages, parts and artifacts pass. The agent's history of a task is not copied. An
// agent that neither streams nor returns at once sends nothing until it has finished, so that
// the task of a crashed send is found only if the agent supports listing tasks. A message that
// a peer repeats in a stream without event ids is passed on twice.
//
// # Concurrency
//
// An Agent is safe for concurrent use once its fields are set. Runs share its connection.
// Nothing outlives a run but connections, which [Agent.Close] closes.
//
// # Testing
//
// The tests run hubs that call hubs over loopback connections, stop them, and drop their
// answers. internal/e2e/crash kills real processes and puts a hostile proxy in between.
package remote
