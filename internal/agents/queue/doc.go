// Package queue provides an agent whose tasks are performed by the workers at a queue of a bus:
// programs that need not be running when the agent is called.
//
// # Overview
//
// A [Dispatcher] connects a hub to a bus. There is one for each hub and bus; it receives the
// messages of workers and passes them to the tasks concerned. An [Agent] is an executor that
// publishes each message as work at a queue, grants it to the first worker that claims it, and
// passes on the worker's reports. Package worker implements the worker; package
// internal/bus/protocol defines the messages between both.
//
//	d := &queue.Dispatcher{Bus: b, ID: "hub1", Tasks: store, Signer: signer}
//	hub.Handle(card, &queue.Agent{Dispatcher: d})   // for each agent at the bus
//	go d.Run(ctx)                                   // ends after the hub does
//
// [DeadLetters] receives at bus.Dead and stores each dead envelope as a [Letter], so that an
// operator can inspect, republish or drop it. It passes work that will not be executed to
// [Dispatcher.Undeliverable], which fails its task. Several hubs may share a broker and with it
// bus.Dead: an envelope that belongs to another hub is passed on to that hub, at a queue with
// this one receiver. [MemLetters] keeps letters until the process ends; package sqlitestore
// keeps them in the file with the tasks.
//
// # Guarantees
//
// Work of a small message is sent to the topic of a worker with a free slot, and is published at the
// queue only if the worker does not claim it within protocol.OfferWithin. Its claim decides as for
// work from the queue, and work that waits in the queue is not overtaken.
//
// A message is granted to one worker at a time, however often the bus delivers it. The identity
// of this worker and the number of its last accepted event are stored in one step with the
// events. A restarted hub continues from there, and accepts no event twice. Events are accepted
// in the order of the worker's numbers; the hub requests missing ones again. The hub confirms
// events to the worker when they are durable.
//
// If several hubs share a store (Peers), a hub that takes over the task of a lost one acts under its
// name: the worker continues its job and reports to this hub, also if the lost one is back.
//
// A message is executed at most once, with one exception: its worker has declared it
// idempotent, and its caller has seen no state but WORKING. Only then another worker gets it if
// the first one is lost; at most three workers get it. Otherwise the task fails; its message
// names the lost worker and states that the result of its work is unknown. A message that no
// worker claims waits for MaxWait, also across restarts of the hub; then the task fails.
//
// Work that the broker has lost is published again. Run compares each queue with the tasks that
// wait in it, at a broker that reports depths (bus.Operator). If a queue contains less in two
// comparisons, all its waiting work is published again, within three times Reconcile. Copies of
// work that was not lost do no harm: one claim is granted. Waiting work is also published again
// when the wall clock is set back: the broker of this process would wait for the same time before
// it delivers the work of a lost worker again.
//
// An unclaimed task is canceled at once. Otherwise its worker is asked, and may refuse.
//
// A dead envelope is stored before it is acknowledged. One that arrives again is the same letter.
// A replayed letter is published before it is dropped. The store never holds more letters or
// bytes than the limits of DeadLetters, nor older ones: the oldest are dropped.
//
// # Non-guarantees
//
// A replayed envelope may have been executed before it went to bus.Dead, and goes there again if
// its cause persists.
//
// The comparison counts envelopes, it does not identify them. Work of other hubs in the same
// queue, or copies, may hide lost work until they are gone.
//
// Work whose hub is lost before the publication is stored, within a second, is published again. The
// worker that has claimed the first copy keeps claiming until that hub is back. A dead envelope of
// an adopted task waits for the hub that has published it.
//
// Side effects of a lost worker are not undone. If a hub finds a pending cancel request when it
// starts, it stops the worker without asking it. Messages, with their task, and events of more
// than protocol.MaxLarge fail. The bus does not keep a large event while the hub assembles it:
// its worker keeps it until it is durable.
//
// # Concurrency
//
// A Dispatcher, a DeadLetters and an Agent are safe for concurrent use once their fields are
// set. Each task has one goroutine, that of its run, with a bounded mailbox. If Runs is set, a
// task whose work has waited in its queue for a second has none, and needs some hundred bytes: its
// run rests (execution.ErrResting) until a worker claims the work, its limit is near, or the broker
// has lost the work. Tasks of Serial agents and tasks with a deadline keep their runs. The memory
// for content and events that do not fit into an envelope is bounded, too (Large). Only runs
// outlive Run; they end with their hub.
//
// # Testing
//
// The tests run an engine and workers over bus.Memory, in bubbles of fake time where leases
// matter.
package queue
