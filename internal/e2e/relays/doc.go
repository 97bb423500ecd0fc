// Package relays tests hubs with remote agents: each way in which parley.yaml can name an
// agent, through the real command. The agents are those of parley mock, and small servers of
// the tests.
//
// # Guarantees
//
// A follow-up reaches the agent and its answer returns, with every kind of configuration.
// Output that an agent sends after the end of its task is not lost.
package relays
