// Package agent is the contract between an executor and Parley: an executor declares its
// properties with it, and sends its requests to the hub.
//
// An agent is the SDK's a2asrv.AgentExecutor, unchanged. This package adds to the SDK
// the [Traits] that an executor declares, and the [Call] that it runs for:
//
//	call := agent.CallFrom(ctx)
//
// [Call.Flush] waits until the events of the run are durable. [Call.Checkpoint] stores the state from
// which a run continues after a crash. [Call.Delegate] asks another agent of the hub. A [Raw] event
// passes JSON on unchanged. Package remote is an agent elsewhere.
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
// A test can range over the events of an executor without a hub. CallFrom then returns nil, or the
// Call of WithCall, and Flush returns immediately.
package agent
