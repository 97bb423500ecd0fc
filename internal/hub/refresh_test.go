package hub

import (
	"testing"
	"time"
)

// All webhooks are read when hints do not suffice, and not once a second.
func TestHookReview(t *testing.T) {
	t.Parallel()
	v, now := new(hookReview), time.Unix(1, 0)
	for _, step := range []struct {
		name   string
		after  time.Duration
		all    bool
		failed bool // of the reading before
		want   bool
	}{
		{name: "begin", want: true},
		{name: "regular", after: time.Second},
		{name: "hint without keys", all: true, want: true},
		{name: "regular", after: time.Second},
		{name: "failed", failed: true, want: true},
		{name: "just below a minute", after: 59 * time.Second},
		{name: "a minute", after: time.Second, want: true},
		{name: "regular", after: 2 * time.Second},
	} {
		now, v.failed = now.Add(step.after), step.failed
		if got := v.due(now, step.all); got != step.want {
			t.Errorf("%s: due = %v", step.name, got)
		}
	}
}
