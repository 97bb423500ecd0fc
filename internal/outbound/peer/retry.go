package peer

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// Pauses between the tries of a call: they double, up to a limit, and up to half of each is
// random, so that callers do not retry simultaneously.
const (
	retryFirst = 500 * time.Millisecond
	retryLast  = 30 * time.Second
)

// retry calls f until it succeeds, fails permanently, or has used up its tries.
func (p *Peer) retry(ctx context.Context, idempotent bool, f func() error) error {
	pause := retryFirst
	for tries := 0; ; tries++ {
		err := f()
		if err == nil || tries >= max(0, cmp.Or(p.opts.Retries, DefaultRetries)) || !again(err, idempotent) {
			return err
		}
		wait := pauseAfter(err, pause)
		if wait > retryLast || backoff.Sleep(ctx, wait) != nil {
			return err
		}
		pause = min(2*pause, retryLast)
	}
}

// again reports whether a call that ended with err may be repeated. A send is repeated only if
// nothing can have been accepted, which 502 and 504 leave open.
func again(err error, idempotent bool) bool {
	if errors.Is(err, ErrOpen) {
		return false
	}
	if errors.Is(err, ErrUnreachable) {
		return true
	}
	var agent *transport.Error
	if !errors.As(err, &agent) {
		return idempotent && broken(err)
	}
	switch agent.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return idempotent
	}
	return false
}

// pauseAfter returns the time to wait after err: the agent's Retry-After, or else up to half
// less than pause.
func pauseAfter(err error, pause time.Duration) time.Duration {
	var agent *transport.Error
	if errors.As(err, &agent) && agent.RetryAfter > 0 {
		return agent.RetryAfter
	}
	return pause - rand.N(pause/2)
}

// longestAsked is the longest Retry-After of an agent that is accepted.
const longestAsked = 24 * time.Hour
