// Package rockbot lets agents of RockBot, which speak its own shapes over RabbitMQ, perform
// tasks of a hub.
//
// # What it is
//
// A [Line] is a hub's place on RockBot's exchange: it has a name there like an agent, a
// durable queue for responses and one for statuses. An [Agent] is an executor that gives
// its tasks to one agent of RockBot. It publishes an AgentTaskRequest at
// agent.task.AGENT, in the queue that RockBot would make for that agent if there is none,
// so that the agent need not run yet. What comes back becomes events: each
// AgentTaskStatusUpdate a status, an AgentTaskResult its artifacts and the last status, an
// AgentTaskError a failure. A task that waits for input goes on with a new request in the
// same context, as RockBot's own callers do.
//
// Each caller of the hub has a source and a reply topic of its own, HUB.CALLER, under which
// RockBot keeps trust; one queue has the responses for all of them.
//
// A Line also receives the cards that agents announce, and [Line.Serve] lets RockBot's agents
// ask one of the hub's: a [Server] performs what arrives at agent.task.NAME, and the answer
// goes to the topic that the caller has named. While the agent works, its statuses are
// published at agent.task.status. It is announced at discovery.announce when its queues are
// there and then every [AnnounceEvery], and deregistered at the end.
//
// # Guarantees
//
// A request is published once: its task id is derived from the message, the run notes that
// it is about to publish before it does, and after a crash of the hub it waits for the
// answer to that id. A response leaves its queue when its events are durable. It may arrive
// while the hub is down, or before the run is there again.
//
// Each run ends: at its Timeout at the latest.
//
// # What it does not promise
//
// If the hub is killed between noting and publishing, nobody has got the request and the
// run ends at its timeout, unless the agent is declared Idempotent: then it is sent again.
// Statuses may be lost while the hub is down. RockBot's agents refuse to cancel; then a
// task is not canceled here either, until the engine's patience ends. Parts that are
// neither text nor data go as data. Data is a string that holds JSON, and metadata has
// strings alone: other values go in one string, parley.carried, which hubs read back.
//
// RockBot trusts its broker: whoever may publish there can answer for any agent, if it
// knows the id of a task. Responses for ids that nobody knows go to the dead letters after
// two minutes.
//
// # Concurrency
//
// A Line and its Agents are safe for concurrent use once their fields are set. Run owns
// the goroutines.
//
// # Testing
//
// The tests run hubs and an agent that speaks raw AMQP, as RockBot does, on a private
// RabbitMQ.
package rockbot
