package engine

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestGoroutinesClose closes a group while others run and join: every accepted function runs.
func TestGoroutinesClose(t *testing.T) {
	t.Parallel()
	for range 50 {
		var c goroutines
		var accepted, done atomic.Int64
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() {
				for range 50 {
					if c.run(func() { done.Add(1) }) {
						accepted.Add(1)
					}
				}
			})
		}
		c.close()
		callers.Wait()
		if n := c.wait(0); n != 0 {
			t.Fatalf("wait = %d", n)
		}
		if a, d := accepted.Load(), done.Load(); a != d {
			t.Fatalf("%d were accepted, %d done", a, d)
		}
	}
}
