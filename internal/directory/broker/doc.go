// Package broker chooses among agents that have the same skill, and limits how often a skill is
// requested.
//
// # Overview
//
// A [Broker] records the outcomes of tasks: the last 200 for each agent and skill. It draws one
// of several agents at random, with the weight
//
//	success rate × 1 / (1 + cost per success)
//
// so that unreliable or expensive agents get less work, but enough to show an improvement. An
// agent without recorded outcomes has weight 1. Agents that do not answer are skipped as long
// as others do.
//
// Agents report the cost of a task and their confidence in data parts of the
// extensions cost-v1 and confidence-v1. The metadata of such a part has the mimeType
// application/vnd.protolabs.cost-v1+json or application/vnd.protolabs.confidence-v1+json. The
// broker reads them from every message and artifact of a task.
//
// A [Rule] gives a skill a cooldown: after a request it is unavailable for a time, separately
// for each value of a metadata key, such as the repository.
//
// # Guarantees
//
// The same random numbers and the same outcomes give the same choices. Recorded outcomes
// survive a restart, except those of the last 30 seconds before a crash.
//
// # Non-guarantees
//
// Canceled tasks are not counted. Costs are those that the agents report.
//
// # Concurrency
//
// A Broker is safe for concurrent use. No method except Open and Run blocks on I/O.
package broker
