// Package queue makes an agent of the workers at a queue of a bus: programs that need not
// be running when the agent is called.
//
// # What it is
//
// A [Dispatcher] is a hub's place on a bus. There is one for each hub and bus; it hears
// what workers say and passes it to the tasks that it is about. An [Agent] is an executor
// that publishes each message as work at a queue, gives it to the first worker that
// claims it, and passes on what that reports. Package agent has the worker; package
// bus/protocol is what both say to each other.
//
//	d := &queue.Dispatcher{Bus: b, ID: "hub1", Tasks: store, Signer: signer}
//	hub.Handle(card, &queue.Agent{Dispatcher: d})   // for each agent at the bus
//	go d.Run(ctx)                                   // ends after the hub does
//
// The receiver of bus.Dead reports its letters to [Dispatcher.Undeliverable].
//
// # Guarantees
//
// A message is given to one worker at a time, whatever the bus delivers how often. Which
// one has it, and which of its events were taken, is stored in one step with the events;
// a hub that is started again goes on from there, and takes nothing twice. Events are
// taken in the order in which the worker has numbered them; what is missing is asked for
// again. A worker hears that its events are durable when they are.
//
// A message is executed at most once, unless its worker has declared it idempotent and
// nobody was told more than WORKING: only then another worker gets it if the first one is
// lost, three of them at most. Otherwise the task fails, and says which worker was lost
// and that it is unknown what it has done. A message that no worker claims waits for
// MaxWait, and across restarts of the hub; then the task fails.
//
// A task that nobody has claimed is canceled at once. Otherwise its worker is asked, and
// may refuse.
//
// # What it does not promise
//
// What a lost worker has done in the world is done. A cancel request that a hub finds
// pending when it starts is not discussed: the worker is told to stop. Messages, with their
// task, and events of more than job.MaxLarge fail. A large event is not kept by the bus
// while the hub puts it together: its worker has it until it is durable.
//
// # Concurrency
//
// A Dispatcher and an Agent are safe for concurrent use once their fields are set. Each
// task has one goroutine, that of its run; what comes for it is put into its mailbox, which
// is bounded, and so is what is held of content and events that do not fit into an
// envelope (Large). Nothing outlives Run but runs, which end with their hub.
//
// # Testing
//
// The tests run an engine and workers over bus.Memory, in bubbles of fake time where
// leases matter.
package queue
