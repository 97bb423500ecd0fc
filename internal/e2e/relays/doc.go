// Package relays holds hubs against agents elsewhere, as the configuration names them:
// each way that parley.yaml has of reaching an agent, through the real command.
//
// # Guarantees
//
// A follow-up reaches the agent and its answer comes back, whichever way is configured; and
// agents whose answers follow the end of their task lose none of them.
//
// # Concurrency
//
// The agents of one hub are tested at the same time.
//
// # Testing
//
// The package is tests alone. The agents are those of parley mock, and small servers of
// the tests.
package relays
