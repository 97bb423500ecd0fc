// Package agent is the agent's side of Parley: what an executor may say about
// itself and what it may ask the hub.
//
// An agent is the SDK's a2asrv.AgentExecutor, unchanged. This package adds what
// the SDK has no word for: [Traits] that an executor declares, the [Call] that it
// runs for, [Flush], the barrier that waits until its events are durable, and
// [Checkpoint], what a run notes to go on from after a crash. A [Raw] event passes JSON
// on as it is. [Delegate] asks another agent of the hub. The kinds of agents that Parley
// brings along are in packages below this one.
//
// A [Worker] performs an agent in a process of its own, over a bus: the agent need not be
// running when it is called. It takes an executor, or a handler for each [Skill]. Package
// agent/queue is the hub's side, bus/protocol what both say to each other, and docs/wire.md the
// contract for workers in other languages.
//
// # Guarantees
//
// A run is executed at most once unless the agent declares itself Idempotent or
// Resumable. The events that an executor yields are stored in the order in which it
// yields them, before anybody sees them. Its context is canceled after its final or interrupted
// event, when the task is canceled, and when the hub drains.
//
// # What it does not promise
//
// Yielding does not wait for the disk: events are durable a little later, and the
// executor is slowed down only when the hub's queue for it is full. Flush waits.
//
// In a Worker, a Checkpoint is not kept, and nobody can be asked with Delegate. A Worker
// that loses the bus goes on: it keeps what its agents say, up to 4 MiB for each task, until
// a hub has confirmed it.
//
// # Concurrency
//
// Every run has a goroutine of its own. Execute and Cancel of one task may run at
// the same time. What Worker.Run starts has ended when it returns, unless it returns an
// error about executors that did not stop.
//
// # Testing
//
// An executor can be ranged over in a test without any hub; CallFrom returns nil
// then and Flush returns at once. A Worker runs over a bus.Memory.
package agent
