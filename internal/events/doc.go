// Package events is the stream of all events of a hub, for administrators.
//
// # Overview
//
// The timeline of the store ([task.Timeline]) is the source: the order in which the changes of
// tasks became durable, with notices of all other events between them. A [Recorder] adds the
// notices and follows the timeline for its readers. Changes of tasks need no notice: they are
// read from the log of the task.
//
// # Guarantees
//
// Each reader gets the events in one order, each once, and can continue from the id of any
// event, also after a restart of the hub. Events that a reader cannot get are announced by one
// event of type gap: those that the store has dropped, those of deleted tasks, notices that the
// hub could not store, and notices that may be missing because the hub was killed. Changes of
// tasks are never missing without a gap. A reader holds one page of the timeline in memory. One
// that falls behind the oldest kept event gets a gap and an event of type stream.end.
//
// # Non-guarantees
//
// Notices are stored shortly after their events. They are shortened to fit task.MaxNotice. The
// Recorder does not check who reads.
//
// # Concurrency
//
// All methods of a Recorder are safe for concurrent use. Run is called once.
package events
