package remote

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPollingTimes checks that the time between two polls doubles from the first to the longest
// one.
func TestPollingTimes(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, tt := range map[string]struct {
		agent *Agent
		want  []time.Duration
	}{
		"defaults":    {&Agent{}, []time.Duration{2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s}},
		"both":        {&Agent{PollInitial: 3 * s, PollMax: 10 * s}, []time.Duration{3 * s, 6 * s, 10 * s, 10 * s}},
		"first alone": {&Agent{PollInitial: time.Minute}, []time.Duration{time.Minute, time.Minute}},
		"max alone":   {&Agent{PollMax: 3 * s}, []time.Duration{2 * s, 3 * s, 3 * s}},
		"max is less": {&Agent{PollMax: s}, []time.Duration{s, s}},
		"interval":    {&Agent{Poll: s, PollInitial: 3 * s}, []time.Duration{s, s, s}},
	} {
		var got []time.Duration
		for i := range tt.want {
			got = append(got, tt.agent.poll(i))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if tt.agent.poll(1<<20) != tt.want[len(tt.want)-1] {
			t.Errorf("%s: grows further", name)
		}
	}
}
