package server

import (
	"testing"

	"github.com/parley-a2a/parley/internal/config"
)

func TestEngineLimits(t *testing.T) {
	t.Parallel()
	got := limits(&config.Config{Engine: config.Engine{MaxRuns: 2, MaxAway: 3, MaxQueued: 5, MaxWaiting: 7, MaxOutput: 11}})
	if got.MaxRuns != 2 || got.MaxAway != 3 || got.MaxQueued != 5 || got.MaxWaiting != 7 || got.MaxOutput != 11 {
		t.Errorf("limits = %+v, want max_runs 2, max_away 3, max_queued 5, max_waiting 7 and max_output 11", got)
	}
}
