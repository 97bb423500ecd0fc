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
// Package agent/worker performs an agent in a process of its own, over a bus.
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
// In a worker, Checkpoint keeps nothing and Delegate returns ErrNoDelegation.
//
// # Concurrency
//
// Every run has a goroutine of its own. Execute and Cancel of one task may run at
// the same time.
//
// # Testing
//
// An executor can be ranged over in a test without any hub; CallFrom returns nil
// then and Flush returns at once.
package agent
