package engine

import (
	"sync"
	"time"
)

// crew is a group of goroutines that can be joined until it is closed, and waited
// for, for a limited time. Unlike a sync.WaitGroup it may be joined while somebody
// waits. Some goroutines that have nothing more to do are kept for what comes next,
// because their stacks have grown.
type crew struct {
	parked sync.WaitGroup // the goroutines in idle

	mu     sync.Mutex // guards the fields below
	size   int
	closed bool
	left   chan struct{} // closed when the crew is empty; nil if nobody waits
	// idle are the goroutines without work; the last one was the last to work.
	idle []chan func()
}

// maxIdle is how many goroutines without work a crew keeps.
const maxIdle = 128

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

// work calls f and what else comes.
func (c *crew) work(f func()) {
	next := make(chan func(), 1)
	for f != nil {
		f = c.do(f, next)
	}
}

// do calls f and waits for more; it returns nil if there will be none.
func (c *crew) do(f func(), next chan func()) func() {
	f()
	if !c.park(next) {
		return nil
	}
	defer c.parked.Done()
	return <-next
}

// park leaves the crew and makes next known as a place for work; it reports false if
// there is enough of them.
func (c *crew) park(next chan func()) bool {
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

// close lets nobody join any more, and ends the goroutines that have nothing to do.
func (c *crew) close() {
	c.mu.Lock()
	c.closed = true
	for _, next := range c.idle {
		close(next)
	}
	c.idle = nil
	c.mu.Unlock()
	c.parked.Wait()
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
