package ratelimit

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/task"
)

// Config says how much is allowed. The zero Config allows everything.
type Config struct {
	// Requests is how many requests one caller may make per second, on average. Zero
	// or less does not limit.
	Requests float64
	// Burst is how many requests may come at once after a pause. Zero or less means
	// twice Requests, and at least one.
	Burst int
	// Bytes is how many bytes of requests one caller may send per second, on average,
	// and at once after a pause. Zero or less does not limit.
	Bytes int64
}

// maxCallers bounds the callers that are known at one time.
const maxCallers = 1 << 16

// Limiter counts what callers ask for.
type Limiter struct {
	cfg Config

	mu      sync.Mutex // guards the fields below
	callers map[task.Owner]*caller
	// sweepAt is the number of callers at which the idle ones are forgotten.
	sweepAt int
}

// caller is what one caller has left.
type caller struct {
	requests, bytes bucket
}

// bucket holds tokens as they were at a moment; below zero is a debt.
type bucket struct {
	tokens float64
	at     time.Time
}

// minSweep is the least number of callers to look through for idle ones.
const minSweep = 1024

// New returns a Limiter for cfg, or nil if cfg allows everything.
func New(cfg Config) *Limiter {
	if !(cfg.Requests > 0) && cfg.Bytes <= 0 { // NaN does not limit either
		return nil
	}
	if cfg.Burst <= 0 {
		cfg.Burst = int(min(max(1, math.Ceil(2*cfg.Requests)), math.MaxInt32))
	}
	return &Limiter{cfg: cfg, callers: make(map[task.Owner]*caller), sweepAt: minSweep}
}

// Request counts a request of a caller, before it is read. The error wraps
// apierror.ErrExhausted and says when to come back: the caller asks too often, or is in
// debt for the bytes of earlier requests.
func (l *Limiter) Request(who task.Owner) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	c := l.caller(who, now)
	if err := l.inDebt(c, now); err != nil {
		return err
	}
	if !(l.cfg.Requests > 0) {
		return nil
	}
	left := c.requests.fill(now, l.cfg.Requests, float64(l.cfg.Burst))
	if late := (1 - left) / l.cfg.Requests; late > moment {
		return refuse(late, "requests", l.cfg.Requests)
	}
	c.requests.tokens--
	return nil
}

// Bytes counts n bytes that were read from a caller. The error wraps
// apierror.ErrExhausted: other requests of the caller have used up what was left when
// this one began, and n was not counted.
func (l *Limiter) Bytes(who task.Owner, n int) error {
	if l == nil || l.cfg.Bytes <= 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	c := l.caller(who, now)
	if err := l.inDebt(c, now); err != nil {
		return err
	}
	c.bytes.tokens -= float64(n)
	return nil
}

// inDebt returns an error if c has sent more bytes than it may.
func (l *Limiter) inDebt(c *caller, now time.Time) error {
	rate := float64(l.cfg.Bytes)
	if l.cfg.Bytes <= 0 {
		return nil
	}
	if late := -c.bytes.fill(now, rate, rate) / rate; late > moment {
		return refuse(late, "bytes of requests", rate)
	}
	return nil
}

// fill adds the tokens that have come since the last time, and returns how many
// there are.
func (b *bucket) fill(now time.Time, rate, most float64) float64 {
	if b.at.IsZero() {
		b.tokens = most
	} else {
		b.tokens = min(most, b.tokens+rate*now.Sub(b.at).Seconds())
	}
	b.at = now
	return b.tokens
}

// full reports whether the bucket would be full at now.
func (b *bucket) full(now time.Time, rate, most float64) bool {
	return b.at.IsZero() || b.tokens+rate*now.Sub(b.at).Seconds() >= most
}

// moment is the time, in seconds, that is not waited for: rounding may make it up.
const moment = 1e-8

// maxRetry bounds what a caller is told to wait.
const maxRetry = time.Hour

// refuse says that a caller is so many seconds too early.
func refuse(late float64, what string, most float64) error {
	wait := maxRetry
	if late < maxRetry.Seconds() {
		wait = time.Duration(math.Ceil(1000*(late-moment))) * time.Millisecond
	}
	return &apierror.Error{
		Err:        apierror.ErrExhausted,
		Message:    fmt.Sprintf("too many %s: this caller may send %g per second", what, most),
		RetryAfter: wait,
	}
}

// caller returns what who has left, making room if there are many callers.
func (l *Limiter) caller(who task.Owner, now time.Time) *caller {
	if c := l.callers[who]; c != nil {
		return c
	}
	if len(l.callers) >= l.sweepAt {
		l.sweep(now)
	}
	c := new(caller)
	l.callers[who] = c
	return c
}

// sweep forgets the callers whose buckets are full. If that leaves too many, some
// others are forgiven, so many that the next sweep is far away.
func (l *Limiter) sweep(now time.Time) {
	for who, c := range l.callers {
		if c.requests.full(now, l.cfg.Requests, float64(l.cfg.Burst)) &&
			c.bytes.full(now, float64(l.cfg.Bytes), float64(l.cfg.Bytes)) {
			delete(l.callers, who)
		}
	}
	for who := range l.callers {
		if len(l.callers) <= maxCallers/2 {
			break
		}
		delete(l.callers, who)
	}
	l.sweepAt = max(minSweep, 2*len(l.callers))
}
