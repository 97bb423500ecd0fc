package peer

import (
	"sync"
	"time"
)

// breaker holds back calls to a peer that keeps failing. It counts calls, not the tries
// of a call.
type breaker struct {
	after int           // failures in a row that open it; not positive: never
	every time.Duration // how often one call is let through as a probe

	mu       sync.Mutex // guards the fields below
	failures int
	probed   time.Time // when the last call was let through
	probing  bool
}

// allow reports whether a call may go out. Each call that may must be told to done.
func (b *breaker) allow() error {
	if b.after <= 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < b.after {
		return nil
	}
	if b.probing || time.Since(b.probed) < b.every {
		return ErrOpen
	}
	b.probing, b.probed = true, time.Now()
	return nil
}

// done notes how a call ended. A call that its caller has given up says nothing about
// the peer.
func (b *breaker) done(failed, gaveUp bool) {
	if b.after <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
	switch {
	case gaveUp:
	case failed:
		b.failures++
		b.probed = time.Now()
	default:
		b.failures = 0
	}
}

// open reports whether calls are held back.
func (b *breaker) open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.after > 0 && b.failures >= b.after
}
