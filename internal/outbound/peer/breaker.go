package peer

import (
	"sync"
	"time"
)

// breaker is a circuit breaker for a peer that keeps failing. It counts calls, not the tries of
// a call.
type breaker struct {
	after int           // consecutive failures that open it; not positive: never
	every time.Duration // how often one call is allowed as a probe

	mu       sync.Mutex // guards the fields below
	failures int
	probed   time.Time // when the last call was allowed
	probing  bool
}

// allow returns an error if calls are held back. The result of each allowed call must be
// reported to done.
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

// done records the result of a call. A call that its caller has aborted is not counted.
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
