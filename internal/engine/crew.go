package engine

import (
	"sync"
	"time"
)

// crew is a group of goroutines that can be joined until it is closed, and waited
// for, for a limited time. Unlike a sync.WaitGroup it may be joined while somebody
// waits.
type crew struct {
	mu     sync.Mutex // guards the fields below
	size   int
	closed bool
	left   chan struct{} // closed when the crew is empty; nil if nobody waits
}

// join adds one member; it reports false if the crew is closed.
func (c *crew) join() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.size++
	}
	return !c.closed
}

// leave removes a member.
func (c *crew) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size--
	if c.size == 0 && c.left != nil {
		close(c.left)
		c.left = nil
	}
}

// run calls f in a goroutine of the crew; it reports false if the crew is closed.
func (c *crew) run(f func()) bool {
	if !c.join() {
		return false
	}
	go func() { // wait is the owner of this goroutine
		defer c.leave()
		f()
	}()
	return true
}

// close lets nobody join any more.
func (c *crew) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

// wait waits until the crew is empty, at most for d if d is positive, and returns
// how many members are left.
func (c *crew) wait(d time.Duration) int {
	c.mu.Lock()
	if c.size == 0 {
		c.mu.Unlock()
		return 0
	}
	if c.left == nil {
		c.left = make(chan struct{})
	}
	left := c.left
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
