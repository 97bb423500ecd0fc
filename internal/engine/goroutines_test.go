package engine

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestIdleGoroutinesAreKept wants one goroutine to run consecutive functions, and none to be left
// when the group is closed.
func TestIdleGoroutinesAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c goroutines
		for range 10 {
			done := make(chan struct{})
			if !c.run(func() { close(done) }) {
				t.Fatal("an open crew did not run")
			}
			<-done
			synctest.Wait()
			if len(c.idle) != 1 {
				t.Fatalf("%d goroutines are kept after one piece of work at a time, want 1", len(c.idle))
			}
		}
		if n := c.wait(0); n != 0 {
			t.Errorf("wait = %d while goroutines are only kept, want 0", n)
		}
		c.close()
		if len(c.idle) != 0 || c.run(func() {}) {
			t.Error("a closed crew keeps goroutines or runs")
		}
	})
}

// TestIdleGoroutinesAreBounded wants a group to run any number of functions concurrently, and
// to keep a few goroutines.
func TestIdleGoroutinesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c goroutines
		gate := make(chan struct{})
		for range 3 * maxIdle {
			c.run(func() { <-gate })
		}
		synctest.Wait()
		if n := c.wait(time.Second); n != 3*maxIdle {
			t.Errorf("wait = %d, want %d", n, 3*maxIdle)
		}
		close(gate)
		synctest.Wait()
		if len(c.idle) != maxIdle {
			t.Errorf("%d goroutines are kept, want %d", len(c.idle), maxIdle)
		}
		c.close()
	})
}

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
