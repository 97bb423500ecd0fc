package ratelimit

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/task"
)

// Config is the rate limit of a caller. The zero Config allows everything.
type Config struct {
	// Requests is the average number of requests per second of one caller. Zero or less means
	// no limit.
	Requests float64
	// Burst is the number of requests that may come at once after a pause. Zero or less means
	// twice Requests, and at least one.
	Burst int
	// Bytes is the average number of bytes of requests per second of one caller, and the number
	// that may come at once after a pause. Zero or less means no limit.
	Bytes int64
}

// maxCallers limits the number of callers remembered.
const maxCallers = 1 << 16

// Limiter counts the requests of callers.
type Limiter struct {
	cfg Config

	mu      sync.Mutex // guards the fields below
	callers map[task.Owner]*caller
	// sweepAt is the number of callers at which idle ones are removed.
	sweepAt int
}

// caller is the remaining allowance of one caller.
type caller struct {
	requests, bytes bucket
}

// bucket holds the tokens at a time; a negative number is a debt.
type bucket struct {
	tokens float64
	at     time.Time
}

// minSweep is the minimum of sweepAt.
const minSweep = 1024

// New returns a Limiter for cfg, or nil if cfg allows everything.
func New(cfg Config) *Limiter {
	if !(cfg.Requests > 0) && cfg.Bytes <= 0 { // NaN means no limit, too
		return nil
	}
	if cfg.Burst <= 0 {
		cfg.Burst = int(min(max(1, math.Ceil(2*cfg.Requests)), math.MaxInt32))
	}
	return &Limiter{cfg: cfg, callers: make(map[task.Owner]*caller), sweepAt: minSweep}
}

// Request counts a request of a caller, before it is read. The error wraps
// apierror.ErrExhausted, with the time after which to retry: the caller sends too many
// requests, or is in debt for the bytes of earlier requests.
func (l *Limiter) Request(owner task.Owner) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	c := l.caller(owner, now)
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

// Bytes counts n bytes read from a caller. The error wraps apierror.ErrExhausted: concurrent
// requests of the caller have used up the allowance since this one began; n is not counted
// then.
func (l *Limiter) Bytes(owner task.Owner, n int) error {
	if l == nil || l.cfg.Bytes <= 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	c := l.caller(owner, now)
	if err := l.inDebt(c, now); err != nil {
		return err
	}
	c.bytes.tokens -= float64(n)
	return nil
}

// inDebt returns an error if c has sent more bytes than allowed.
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

// fill adds the tokens accrued since the last call, and returns the new number.
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

// moment is a debt, in seconds, that is ignored as a possible rounding error.
const moment = 1e-8

// maxRetry limits the retry time given to a caller.
const maxRetry = time.Hour

// refuse returns the error for a caller that must wait for late seconds.
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

// caller returns the allowance of a caller, and removes others if there are too many.
func (l *Limiter) caller(owner task.Owner, now time.Time) *caller {
	if c := l.callers[owner]; c != nil {
		return c
	}
	if len(l.callers) >= l.sweepAt {
		l.sweep(now)
	}
	c := new(caller)
	l.callers[owner] = c
	return c
}

// sweep removes the callers whose buckets are full. If too many callers remain, it removes
// others, enough to postpone the next sweep.
func (l *Limiter) sweep(now time.Time) {
	for owner, c := range l.callers {
		if c.requests.full(now, l.cfg.Requests, float64(l.cfg.Burst)) &&
			c.bytes.full(now, float64(l.cfg.Bytes), float64(l.cfg.Bytes)) {
			delete(l.callers, owner)
		}
	}
	for owner := range l.callers {
		if len(l.callers) <= maxCallers/2 {
			break
		}
		delete(l.callers, owner)
	}
	l.sweepAt = max(minSweep, 2*len(l.callers))
}
