package bustest

import (
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
)

// Features are the differences between buses. The tests of a feature that is false are skipped,
// except for Dedupes.
type Features struct {
	// Durable is set if queues survive Broker.Stop and Broker.Start.
	Durable bool
	// Dedupes is set if a queue drops an envelope with the id of a recent one. Otherwise both
	// must arrive.
	Dedupes bool
	// Leases is set if Subscription.Lease limits even a live receiver.
	Leases bool
	// HidesHeld is set if Operator does not know the number of held envelopes: Depth.Held is 0.
	HidesHeld bool
	// Serial runs one test at a time.
	Serial bool
	// Patience is the time limit of operations that should complete at once. Zero means two minutes.
	Patience time.Duration
}

// Broker is the broker of a test. It has no queues yet.
type Broker struct {
	// Open returns another bus on the broker. The suite closes it. It is required.
	Open func(t *testing.T) bus.Bus
	// Poison, if set, puts bytes at an address that need not be an envelope.
	Poison func(t *testing.T, at bus.Address, data []byte)
	// Stop and Start, if set, stop the broker and start it again at the same address. Stop
	// returns when the broker is unreachable.
	Stop, Start func(t *testing.T)
	// Fill, if set, fills the broker, so that it accepts no more envelopes until relieve is
	// called.
	Fill func(t *testing.T) (relieve func())
	// URL, if set, is the address with which another process calls the function of Child.
	URL string
}

type testCase struct {
	name string
	test func(x *bed)
}

// Run runs the suite. It calls start for each of its tests; start must register the end of the
// broker with t.Cleanup.
func Run(t *testing.T, f Features, start func(t *testing.T) *Broker) {
	t.Helper()
	if f.Patience == 0 {
		f.Patience = 2 * time.Minute
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
