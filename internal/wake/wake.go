// Package wake signals goroutines that something has changed.
//
// # Overview
//
// A Signal wakes one goroutine, which reads the changed state itself. Signals are not counted:
// one that is sent while another is pending has no effect. So a receiver reads all changes
// after a signal.
//
// # Concurrency
//
// All methods may be called concurrently.
package wake

// Signal is a channel that holds at most one pending signal. Use New to create it. A nil
// Signal drops what is sent, and never receives.
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
