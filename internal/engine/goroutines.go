package engine

import (
	"sync"
	"time"
)

// goroutines is a group of goroutines. Members can join it until it is closed, and a caller can
// wait for all members for a limited time. Unlike a sync.WaitGroup it may be joined while a
// caller waits.
type goroutines struct {
	mu     sync.Mutex // guards the fields below
	size   int
	closed bool
	empty  chan struct{} // closed when the group is empty; nil if no caller waits
}

// join adds one member. It reports false if the group is closed.
func (c *goroutines) join() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.size++
	}
	return !c.closed
}

// leave removes a member.
func (c *goroutines) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size--
	if c.size == 0 && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
}

// run calls f in a goroutine of the group. It reports false if the group is closed.
func (c *goroutines) run(f func()) bool {
	if !c.join() {
		return false
	}
	go func() { // wait is the owner of this goroutine
		defer c.leave()
		f()
	}()
	return true
}

// close prevents further joins.
func (c *goroutines) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

// wait waits until the group is empty, at most for d if d is positive. It returns the number of
// members left.
func (c *goroutines) wait(d time.Duration) int {
	c.mu.Lock()
	if c.size == 0 {
		c.mu.Unlock()
		return 0
	}
	if c.empty == nil {
		c.empty = make(chan struct{})
	}
	left := c.empty
	c.mu.Unlock()
	var timeout <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-left:
	case <-timeout:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}
