package limits_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/limits"
)

// TestWithDefaults: a default replaces a zero field only, and never limits what is unlimited.
func TestWithDefaults(t *testing.T) {
	t.Parallel()
	all := limits.Limits{}.WithDefaults()
	if d := cmp.Diff(all, all.WithDefaults()); d != "" {
		t.Errorf("complete limits change (-before +after):\n%s", d)
	}
	unlimited := limits.Limits{AgentSilence: -1, DrainTimeout: -1, MaxOutput: -1, Streams: -1, StreamsPerCaller: -1}
	want := all
	want.AgentSilence, want.DrainTimeout, want.MaxOutput, want.Streams, want.StreamsPerCaller = -1, -1, -1, -1, -1
	if d := cmp.Diff(want, unlimited.WithDefaults()); d != "" {
		t.Errorf("limits that are set change (-want +got):\n%s", d)
	}
	for name, set := range map[string]bool{
		"RequestsPerSecond": all.RequestsPerSecond != 0, "Burst": all.Burst != 0, "BytesPerSecond": all.BytesPerSecond != 0,
		"TasksPerCaller": all.TasksPerCaller != 0, "DelegationTime": all.DelegationTime != 0,
	} {
		if set {
			t.Errorf("%s has a default, want none", name)
		}
	}
}
