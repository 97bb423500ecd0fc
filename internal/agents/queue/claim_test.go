package queue

import (
	"testing"

	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// TestMayServe: a claim counts for the agent that the broker vouches for alone, and for that in
// the worker's id.
func TestMayServe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, worker string
		want         bool
	}{
		{"", "1234", true}, // an old worker, and a broker that authenticates none
		{"", "far.1", true},
		{"", "other.1", false},
		{"far", "far.1", true},
		{"far", "1234", true},
		{"far", "other.1", false},
		{"other", "far.1", false},
		{"other", "other.1", false},
		{"other", "1234", false},
	} {
		c := &claim{Claim: protocol.Claim{Worker: tt.worker}, from: tt.from}
		if got := c.mayServe("far"); got != tt.want {
			t.Errorf("a claim of worker %q, from agent %q, for work of far: %t, want %t", tt.worker, tt.from, got, tt.want)
		}
	}
}
