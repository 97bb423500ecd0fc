package bustest

import (
	"testing"
	"time"

	"github.com/parley-a2a/parley/bus"
)

// Features are what buses differ in. What is false is not tested, but for Dedupes.
type Features struct {
	// Keeps says that queues survive Broker.Stop and Broker.Start.
	Keeps bool
	// Dedupes says that an envelope is dropped that comes to the queue where one with its
	// id was a moment ago. Without it, both must arrive.
	Dedupes bool
	// Leases says that Subscription.Lease counts, also for a receiver that is alive.
	Leases bool
	// HidesHeld says that Operator cannot tell how much receivers hold: Depth.Held is 0.
	HidesHeld bool
	// Serial runs one test at a time.
	Serial bool
	// Patience is how long something may take that should happen at once. Zero means 30 s.
	Patience time.Duration
}

// Broker is what a test runs on. It has no queues yet.
type Broker struct {
	// Open returns another bus on the broker. The suite closes it. It is required.
	Open func(t *testing.T) bus.Bus
	// Poison, if set, puts bytes at an address that need not be an envelope.
	Poison func(t *testing.T, at bus.Address, data []byte)
	// Stop and Start, if set, end the broker and start it again at the same place. Stop
	// returns when nobody can reach it.
	Stop, Start func(t *testing.T)
	// Fill, if set, makes that the broker takes no more, until relieve is called.
	Fill func(t *testing.T) (relieve func())
	// URL, if set, is what Child is called with in another process.
	URL string
}

type testCase struct {
	name string
	test func(x *bed)
}

// Run runs the suite. It calls start for each of its tests; what that starts must end
// with t.Cleanup.
func Run(t *testing.T, f Features, start func(t *testing.T) *Broker) {
	t.Helper()
	if f.Patience == 0 {
		f.Patience = 30 * time.Second
	}
	for _, tests := range [][]testCase{queueTests, settleTests, deadTests, topicTests, limitTests, outageTests, processTests} {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				if !f.Serial {
					t.Parallel()
				}
				tt.test(&bed{T: t, f: f, b: start(t)})
			})
		}
	}
}
