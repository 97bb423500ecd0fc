// Package remote makes an agent of another agent, which somebody else runs and which is
// reached over A2A.
//
// # What it is
//
// An [Agent] is an executor. It sends the caller's message on, in whatever dialect the
// other agent speaks, and passes on what it says: statuses and artifacts, chunk by chunk,
// as JSON that nobody has taken apart. A task that waits for input or for a permission
// waits here as well, and the caller's next message continues the same task there. An
// answer that is a bare message stays one.
//
// # Guarantees
//
// A run goes on after a crash of the hub where it was. Its place (the task there, and the
// last event of its stream) is a checkpoint, which is stored in one step with the event
// that it belongs to. If the crash came before the first event, the message is looked for
// at the agent: its id and its context are derived from the task, so they are known. If
// it cannot be found out whether it has arrived, it is sent again only to an agent that
// is declared idempotent; otherwise the task fails and says so. A further message that
// did not arrive lets the task wait again, with the same question.
//
// Nothing is lost and nothing comes twice where a connection breaks: a snapshot of the
// task is compared with what was passed on, and only what is new goes on.
//
// An agent that cannot be reached is tried three times, within ten seconds; then the task
// fails. One that is [Agent.Awaited] is tried until the deadline, also by the runs after a
// crash, as long as the checkpoint says that nothing of the message was sent. Once an agent
// has accepted the message, it is tried until the deadline. At the
// deadline its task is canceled. A caller who cancels is told what the agent says.
//
// A snapshot that still shows the question which the message answers is not passed on as a
// new one; docs/adr/0071 says which is which. The status that ends a task is passed on when
// the agent has ended its stream, or says nothing for a second, so that artifacts which
// follow it are not lost. An agent that goes on for more than 1,000 events or five seconds is read
// no further, which is logged.
//
// A task that a message refers to has the agent's id of it, if the agent has performed it for
// the same caller; any other id, and each after the sixteenth, goes on as it is.
//
// The extensions that the caller has named are named to the agent. The agent's answer to the
// message says which of them are active: in the header A2A-Extensions, over gRPC in the
// metadata of its header or trailer. If it names none, or does not arrive, none is.
//
// The caller's ids are not told: contexts and messages have others there, which are the
// same for the same caller and the same agent, and never for two callers.
//
// # What it does not promise
//
// Fields of a task, an event or a status that the protocol does not know are dropped;
// those inside messages, parts and artifacts pass. The agent's history of a task is not
// taken over. An agent that neither streams nor returns at once says nothing until it has
// finished, so that a crash in between is found out only if it has lists. A message that a
// peer repeats in a stream without event ids comes twice.
//
// # Concurrency
//
// An Agent is safe for concurrent use once its fields are set. Runs share its
// connection. Nothing outlives a run but connections, which [Agent.Close] gives up.
//
// # Testing
//
// The tests run hubs that ask hubs over loopback connections, stop them, and drop what
// they say. internal/e2e/crash kills real processes and puts a hostile proxy in between.
package remote
