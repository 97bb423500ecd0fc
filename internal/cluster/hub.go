// Package cluster lets several hubs on one database act as one.
//
// Each hub is a member with a lease that it renews. A hub whose lease has ended by the clock of the
// database is lost: it stores nothing more, and the others continue its tasks.
//
// # Guarantees
//
// The clock of a hub decides nothing: it only makes the hub stop early. A hub that was lost and
// returns joins as a new one.
//
// # Non-guarantees
//
// A Hint may be lost. Its receiver also reads the database from time to time.
package cluster

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/task"
)

// ErrLost is returned to a hub whose membership has ended because its lease was not renewed in
// time: it stores nothing until it has joined again.
var ErrLost = errors.New("the lease of the hub has ended")

// DefaultLease is the time after its last renewal at which a hub is lost.
const DefaultLease = 5 * time.Second

// Hub describes a hub to the others.
type Hub struct {
	// ID names the hub to operators. No two hubs of a database have the same one.
	ID string
	// Holder names the process of the hub in the runs of tasks.
	Holder task.Holder
	// Version is that of the program, Config the fingerprint of the configuration, and Address
	// the URL of the hub.
	Version, Config, Address string
}

// NewHolder returns the name of a process, or of one of its memberships, that no other has.
func NewHolder() task.Holder { return task.Holder("hub:" + uuid.NewString()) }

// Member is a hub with its membership.
type Member struct {
	Hub

	// Epoch orders the members: one that has joined later has a larger one.
	Epoch int64
	// Joined is the time at which it became a member, and Lease the remaining time of its lease,
	// both by the clock of the database. Lease is negative for a hub that is about to be lost.
	Joined task.Millis
	Lease  time.Duration
	// Tasks is the number of its runs at the last renewal.
	Tasks int64
	// Drain is set once an operator has asked it to leave.
	Drain bool
	// View is the number of the newest View whose work it keeps to: it does no work any more that
	// belongs to others there.
	View int64
}

// Renewal holds the data of a hub that it stores with its lease.
type Renewal struct {
	Lease time.Duration
	// Runs is the number of its runs, and View the one of Member.
	Runs int
	View int64
}

// Hint names what another hub has changed. A hint may be lost.
type Hint struct {
	// Keys are the tasks; All is set if there were too many to name.
	Keys []task.Key
	All  bool
	// Cancels are open tasks with a cancel request, which their holder carries out. One may be missing, even if All
	// is not set.
	Cancels []task.Key
	// Members is set if a hub has joined, left or was lost.
	Members bool
	// Data is set if data beside tasks has changed. It belongs to a topic.
	Data bool
	// Regular is set in the hint of each second, which names nothing: its receiver reads again,
	// cheaply, the changes that an earlier hint should have named.
	Regular bool
}

// The topics.
const (
	TopicInbox  = "inbox"
	TopicAgents = "agents"
	TopicKeys   = "keys"
	TopicTrust  = "trust"
)
