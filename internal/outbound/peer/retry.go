package peer

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/client/transport"
)

// Pauses between the tries of a call: they double, up to a limit, and up to half of
// each is chance, so that callers do not come back together.
const (
	retryFirst = 500 * time.Millisecond
	retryLast  = 30 * time.Second
)

// retry calls f until it succeeds, or fails for good, or has failed for the last time.
func (p *Peer) retry(ctx context.Context, idempotent bool, f func() error) error {
	pause := retryFirst
	for tries := 0; ; tries++ {
		err := f()
		if err == nil || tries >= p.opts.retries() || !again(err, idempotent) {
			return err
		}
		wait := pauseAfter(err, pause)
		if wait > retryLast || Sleep(ctx, wait) != nil {
			return err
		}
		pause = min(2*pause, retryLast)
	}
}

// again reports whether a call that ended with err may be made once more. A send is
// repeated only if nothing can have been accepted: 502 and 504 leave that open.
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

// pauseAfter is how long to wait after err: what the agent asks for, or else up to a
// half less than pause.
func pauseAfter(err error, pause time.Duration) time.Duration {
	var agent *transport.Error
	if errors.As(err, &agent) && agent.RetryAfter > 0 {
		return agent.RetryAfter
	}
	return pause - rand.N(pause/2)
}

// retryAfter reads the header, in seconds or as a date.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	if n, err := strconv.Atoi(v); err == nil {
		return time.Duration(min(max(n, 0), 24*3600)) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// Sleep waits for d, or for the end of ctx, whose cause it returns.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
