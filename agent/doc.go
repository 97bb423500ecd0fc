// Package agent is the contract between an executor and Parley: an executor declares its
// properties with it, and sends its requests to the hub.
//
// An agent is the SDK's a2asrv.AgentExecutor, unchanged. This package adds to the SDK
// the [Traits] that an executor declares, the [Call] that it runs for, and [Flush], which waits
// until its events are durable. [Checkpoint] stores the state from which a run continues after
// a crash. A [Raw] event passes JSON on unchanged. [Delegate] asks another agent of the hub.
// The kinds of agents that Parley includes are in packages below this one.
//
// Package worker performs an agent in a process of its own, over a bus.
//
// # Guarantees
//
// A run is executed at most once unless the agent declares another AfterCrash than Fail. The
// hub stores the events of an executor in the order in which it yields them, before any reader
// receives them. The context of a run is canceled after its final or interrupted event, when
// the task is canceled, and when the hub drains.
//
// # Non-guarantees
//
// Yielding does not wait for the disk: events become durable a little later, and the hub slows
// an executor down only when its queue for that executor is full. Flush waits.
//
// In a worker, Checkpoint keeps nothing and Delegate returns ErrNoDelegation.
//
// # Concurrency
//
// Every run has a goroutine of its own. Execute and Cancel of one task may run at the same
// time.
//
// # Testing
//
// A test can range over the events of an executor without a hub. CallFrom then returns nil, and
// Flush returns at once.
package agent
