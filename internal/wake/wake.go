// Package wake signals goroutines that something has changed.
//
// # Overview
//
// A Signal wakes one goroutine, which reads the changed state itself. Signals are not counted:
// one that is sent while another is pending has no effect. So a receiver reads all changes
// after a signal. A Broadcast wakes all goroutines that wait at the time.
//
// # Concurrency
//
// All methods may be called concurrently.
package wake

import "sync"

// Signal is a channel that holds at most one pending signal. Use New to create it. A nil
// Signal drops all values, and never receives.
type Signal chan struct{}

// New returns a Signal without a pending signal.
func New() Signal { return make(Signal, 1) }

// Send makes a signal pending, if none is. It never blocks.
func (s Signal) Send() {
	select {
	case s <- struct{}{}:
	default: // a signal is pending
	}
}

// Broadcast wakes all goroutines that wait for a change. The zero Broadcast is ready to use. It
// must not be copied after its first use.
type Broadcast struct {
	mu   sync.Mutex // guards next
	next chan struct{}
}

// Next returns a channel that is closed by the next Send.
func (b *Broadcast) Next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// Send wakes all goroutines that wait for a channel of Next.
func (b *Broadcast) Send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}
