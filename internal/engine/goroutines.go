package engine

import (
	"sync"
	"time"
)

// goroutines is a group of goroutines. Members can join it until it is closed, and a caller can
// wait for all members for a limited time. Unlike a sync.WaitGroup it may be joined while a
// caller waits. It keeps some idle goroutines for later work, because their stacks have grown.
type goroutines struct {
	parked sync.WaitGroup // the goroutines in idle

	mu     sync.Mutex // guards the fields below
	size   int
	closed bool
	empty  chan struct{} // closed when the group is empty; nil if no caller waits
	// idle are the goroutines without work; the last one was the last to work.
	idle []chan func()
}

// maxIdle limits the idle goroutines that a group keeps.
const maxIdle = 128

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
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.size++
	if last := len(c.idle) - 1; last >= 0 {
		c.idle[last] <- f // has room
		c.idle = c.idle[:last]
		return true
	}
	go c.work(f) // wait and close are the owners of this goroutine
	return true
}

// work calls f and the functions that follow it.
func (c *goroutines) work(f func()) {
	next := make(chan func(), 1)
	for f != nil {
		f = c.do(f, next)
	}
}

// do calls f and waits for the next function; it returns nil if there is none.
func (c *goroutines) do(f func(), next chan func()) func() {
	f()
	if !c.park(next) {
		return nil
	}
	defer c.parked.Done()
	return <-next
}

// park leaves the group and registers next as a channel for work. It reports false if enough
// goroutines are idle.
func (c *goroutines) park(next chan func()) bool {
	c.leave()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.idle) >= maxIdle {
		return false
	}
	c.parked.Add(1)
	c.idle = append(c.idle, next)
	return true
}

// close prevents further joins, and ends the idle goroutines.
func (c *goroutines) close() {
	c.mu.Lock()
	c.closed = true
	for _, next := range c.idle {
		close(next)
	}
	c.idle = nil
	c.mu.Unlock()
	c.parked.Wait()
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
