// Package backoff waits between attempts.
//
// [Sleep] ends with its context, and returns the cause of that. [RetryAfter] parses the time
// that a server asks a caller to wait, up to a bound that the caller sets. The growth of waits
// from one attempt to the next is left to the packages that retry. All functions are safe for
// concurrent use.
package backoff

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Sleep waits for d, or for the end of ctx, whose cause it returns. It does not wait if d is
// not positive.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// RetryAfter parses the header of that name, in whole seconds or as a date (RFC 9110 §10.2.3).
// The result is from zero, which also represents an absent or invalid value, to most.
func RetryAfter(value string, now time.Time, most time.Duration) time.Duration {
	value = strings.TrimSpace(value)
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return time.Duration(min(max(n, 0), int64(most/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), most)
	}
	return 0
}
