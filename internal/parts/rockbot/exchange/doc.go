// Package exchange connects a hub with RockBot, whose agents exchange messages of their own
// formats over RabbitMQ. RockBot's agents can perform tasks of the hub, and call agents of the
// hub.
//
// # Overview
//
// An [Exchange] connects a hub to RockBot's exchange. Like an agent it has a name there, and a
// durable queue each for responses and for statuses. An [Agent] is an executor that passes its
// tasks to one agent of RockBot. It publishes an AgentTaskRequest at agent.task.AGENT. If the
// queue that RockBot creates for that agent is missing, it creates the queue, so that the agent
// need not run yet. Responses become events: each AgentTaskStatusUpdate a status, an
// AgentTaskResult its artifacts and the last status, an AgentTaskError a failure. A task that
// waits for input continues with a new request in the same context, like those of RockBot's own
// callers.
//
// Each caller of the hub has a source and a reply topic of its own, HUB.CALLER, by which
// RockBot stores trust. One queue receives the responses for all of them.
//
// An Exchange also receives the cards that agents announce. [Exchange.Serve] lets RockBot's
// agents call one of the hub's: a [Server] performs requests from agent.task.NAME, and the
// answer goes to the topic that the caller has named. While the agent works, its statuses are
// published at agent.task.status. It is announced at discovery.announce when its queues exist
// and then every [AnnounceEvery], and deregistered at the end.
//
// # Guarantees
//
// A request is published once. Its task id is derived from the message, and the run stores its
// intent before it publishes. After a crash of the hub the run waits for the answer to that id.
// The statuses that an agent has published before its response come before it, as long as only one
// process receives for the hub. A response is acknowledged when its events are durable. It may arrive while the hub is down,
// or before its run has started again.
//
// Each run ends, at its Timeout at the latest.
//
// # Non-guarantees
//
// If the hub is killed between storing the intent and publishing, the agent receives no
// request, and the run ends at its timeout. If the agent is declared Idempotent, the request is
// sent again instead. Statuses may be lost while the hub is down. RockBot's agents refuse to
// cancel; the hub's task is not canceled either then, until the engine's timeout. Parts that
// are neither text nor data are sent as data. RockBot's data is a string with JSON, and its
// metadata has only strings: other values are sent in one string, parley.carried, which hubs
// decode.
//
// RockBot trusts its broker: any client that may publish there can answer for any agent, if it
// knows the id of a task. Responses with unknown ids go to the dead letters after two minutes.
//
// # Concurrency
//
// An Exchange and its Agents are safe for concurrent use once their fields are set. Run owns the
// goroutines.
package exchange
