// Package session has the two ends of the numbered events of an execution: the sender's Outbox, and
// the receiver's Place.
//
// # Overview
//
// An execution numbers its events from 1. Another execution of the same work has a later epoch. The
// sender keeps each event in its Outbox until the receiver has acknowledged its number, and sends
// the events again that may be lost. The receiver accepts the event that follows its Place, and
// notices repeated ones, missing ones, and those of executions that do not count any more. So each event
// arrives once and in its order, over any transport.
//
// # Users
//
// A run of the engine is the sender to the log of its task, whose head is the place
// (task.Apply). A worker is the sender to its hub, whose run keeps the place in its checkpoint. An agent that
// speaks A2A numbers nothing, so package agent/remote has other means.
//
// # Concurrency
//
// An Outbox is guarded by a lock of its user.
package session

// Place is the last event that a receiver has accepted, and the epoch of the execution that counts.
// No event has the number 0.
type Place struct{ Epoch, Seq int64 }

// Class is how a receiver treats events.
type Class uint8

// The classes of events.
const (
	// Accept: the receiver accepts the events.
	Accept Class = iota + 1
	// Repeated: it has accepted all of them.
	Repeated
	// Gap: earlier events are missing.
	Gap
	// Stale: they are of another execution than the one that counts.
	Stale
)

// Classify returns the class of n events of an epoch whose numbers begin with first, and how many of
// them were accepted before.
func (p Place) Classify(epoch, first int64, n int) (c Class, skip int) {
	switch {
	case epoch != p.Epoch:
		return Stale, 0
	case first < 1 || first-1 > p.Seq:
		return Gap, 0
	}
	skip = int(min(p.Seq-first+1, int64(n)))
	if skip == n {
		return Repeated, n
	}
	return Accept, skip
}
