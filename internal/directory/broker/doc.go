// Package broker chooses among agents that have the same skill, and keeps work from being
// asked for again and again.
//
// # What it is
//
// A [Broker] remembers how tasks have ended: for each agent and skill the last 200. One
// of several agents is drawn, by a weight of
//
//	success rate × 1 / (1 + cost per success)
//
// so that agents that fail or are dear get less, and still enough to show that they have
// become better. An agent that nothing is known of weighs 1. Agents that do not answer are
// left out while there are others.
//
// What a task has cost, and how sure its agent was, say data parts of the extensions
// cost-v1 and confidence-v1 of protoWorkstacean, wherever the task carries them: parts
// whose metadata has the mimeType application/vnd.protolabs.cost-v1+json or
// application/vnd.protolabs.confidence-v1+json.
//
// A [Rule] lets a skill cool down: after it was asked for, it is not to be had again for a
// while, for each value of a key in the metadata, such as the repository.
//
// # Guarantees
//
// With the same source of random numbers and the same outcomes the same agents are chosen.
// What was learned survives a restart, but for what happened in the last half minute
// before a crash.
//
// # What it does not promise
//
// Outcomes of tasks that were canceled say nothing and are not counted. Costs are what the
// agents say they are.
//
// # Concurrency
//
// A Broker is safe for concurrent use, and none of its methods but Open and Run waits for
// anything.
//
// # Testing
//
// Random numbers and the state of health come in by fields; times in bubbles of fake time.
package broker
