package queue

import (
	"sync"
	"time"
)

// clockInterval is the time between two readings of the clock.
const clockInterval = time.Second

// leastSetBack is the least step of the clock that counts.
const leastSetBack = time.Second

// wallClock notices that the wall clock is set back. The zero value is ready to use.
type wallClock struct {
	mu    sync.Mutex // guards the fields below
	began time.Time  // of the first reading
	ahead time.Duration
	back  time.Duration
}

// read compares the wall clock with monotonic time.
func (c *wallClock) read(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began.IsZero() {
		c.began = now
	}
	c.step(now.Round(0).Sub(c.began.Round(0)) - now.Sub(c.began))
}

// step notes by how much the wall clock is ahead of monotonic time.
func (c *wallClock) step(ahead time.Duration) {
	if by := c.ahead - ahead; by >= leastSetBack {
		c.back = max(c.back, by)
	}
	c.ahead = ahead
}

// setBack reads the clock. It returns by how much it was set back since the last call; zero if it
// was not.
func (c *wallClock) setBack() time.Duration {
	c.read(time.Now())
	c.mu.Lock()
	defer c.mu.Unlock()
	by := c.back
	c.back = 0
	return by
}
