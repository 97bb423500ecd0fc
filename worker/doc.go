// Package worker performs the tasks of an agent in a process of its own, over a bus. The
// agent need not be running when it is called.
//
// A [Worker] takes an executor, or a handler for each [Skill]. Package internal/agents/queue is the
// hub's side, internal/bus/protocol the messages between the two, and docs/wire.md the contract for
// workers in other languages.
//
// # Guarantees
//
// A worker starts no run before a hub has granted it. A hub accepts the events of one
// worker for each run, in the order in which the executor yields them.
//
// A worker that loses the bus continues: it keeps the events of each task, up to 4 MiB,
// until the hub has confirmed them. An executor that is further ahead waits.
//
// # Non-guarantees
//
// Checkpoints, journals and delegation with agent.Call.Delegate need a hub in the same process;
// a worker has none of them.
//
// # Concurrency
//
// Each task has goroutines of its own. All goroutines that Worker.Run starts have ended
// when it returns, unless it returns an error about executors that did not stop.
//
// # Testing
//
// A Worker runs over a bus.Memory. The tests of package internal/agents/queue run it against a hub.
package worker
