package queue

import (
	"testing"
	"time"
)

// TestWallClock: a clock that is set back is noticed once, also if it was set forward just before.
func TestWallClock(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ahead []time.Duration
		want  time.Duration
	}{
		"steady":           {[]time.Duration{0, 10 * time.Millisecond, -10 * time.Millisecond}, 0},
		"forward":          {[]time.Duration{0, time.Hour}, 0},
		"back":             {[]time.Duration{0, -time.Minute}, time.Minute},
		"forward and back": {[]time.Duration{0, time.Hour, 0}, time.Hour},
		"twice":            {[]time.Duration{0, -time.Minute, time.Hour, 0}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c wallClock
			for _, ahead := range tt.ahead {
				c.step(ahead)
			}
			if c.back != tt.want {
				t.Errorf("set back by %v, want %v", c.back, tt.want)
			}
		})
	}
	var c wallClock
	c.read(time.Now())
	c.step(time.Hour) // until the next reading
	// The two clocks are not read at one instant and may drift apart by a little.
	if by := c.setBack(); by < 59*time.Minute || by > 61*time.Minute {
		t.Errorf("set back by %v, want about an hour", by)
	}
	if by := c.setBack(); by != 0 {
		t.Errorf("set back by %v again", by)
	}
}
