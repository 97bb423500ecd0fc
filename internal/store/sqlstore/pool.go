package sqlstore

import (
	"context"
	"errors"
	"sync"
)

// Pool holds the connections of type C that read.
type Pool[C any] struct {
	open    func() (C, error)
	end     func(C) error
	refusal error
	// slots holds a token for each connection that may be taken.
	slots chan struct{}

	mu     sync.Mutex // guards the fields below
	idle   []C        // the one used last is taken first: its cache is warm
	closed bool
}

// NewPool returns a pool of at most size connections, which open and end open and close. After Close,
// it refuses calls with refusal.
func NewPool[C any](size int, refusal error, open func() (C, error), end func(C) error) *Pool[C] {
	p := &Pool[C]{open: open, end: end, refusal: refusal, slots: make(chan struct{}, size)}
	p.fill()
	return p
}

func (p *Pool[C]) fill() {
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
}

// Take waits for a connection. It reports whether the connection was used before.
func (p *Pool[C]) Take(ctx context.Context) (c C, used bool, err error) {
	if err := ctx.Err(); err != nil {
		return c, false, context.Cause(ctx)
	}
	select {
	case <-p.slots:
	case <-ctx.Done():
		return c, false, context.Cause(ctx)
	}
	c, used, err = p.pop()
	if err != nil {
		p.slots <- struct{}{}
	}
	return c, used, err
}

func (p *Pool[C]) pop() (c C, used bool, err error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return c, false, p.refusal
	}
	if n := len(p.idle); n > 0 {
		c = p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return c, true, nil
	}
	p.mu.Unlock()
	c, err = p.open()
	return c, false, err
}

// Put returns c to the pool.
func (p *Pool[C]) Put(c C) {
	p.mu.Lock()
	p.idle = append(p.idle, c)
	p.mu.Unlock()
	p.slots <- struct{}{}
}

// Drop closes a failed connection that was taken.
func (p *Pool[C]) Drop(c C) {
	_ = p.end(c) // it has failed already
	p.slots <- struct{}{}
}

// Clear closes all idle connections.
func (p *Pool[C]) Clear() error {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	var errs []error
	for _, c := range idle {
		errs = append(errs, p.end(c))
	}
	return errors.Join(errs...)
}

// Close waits until all connections are returned and closes them.
func (p *Pool[C]) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	for range cap(p.slots) {
		<-p.slots
	}
	p.fill() // calls that wait for a slot now find the pool closed
	return p.Clear()
}
