package webhooks

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/outbound/safedial"
)

const (
	// minRetry is the least wait before a retry. firstRetry and longestRetry are the first and
	// the largest upper bound of the random wait.
	minRetry     = 200 * time.Millisecond
	firstRetry   = time.Second
	longestRetry = 5 * time.Minute
	// longestAsked is the longest Retry-After that is honoured.
	longestAsked = time.Hour
)

// outcome is the outcome of a try for its version.
type outcome uint8

const (
	delivered     outcome = iota // delivered
	retry                        // to be retried
	undeliverable                // dropped into a dead letter
	hookGone                     // dropped with all versions behind it
	aborted                      // the hook was changed or the hub is stopping
)

// tryResult is the result of a try.
type tryResult struct {
	outcome outcome
	// reason is a text for operators; it contains no address.
	reason string
	// wait is the Retry-After of the webhook.
	wait time.Duration
	// unhealthy is set if the try shows that the endpoint fails, healthy if it shows that it is
	// not. A try that ends before a request sets neither.
	unhealthy, healthy bool
}

// classify returns the result of an HTTP response.
func classify(code int, header http.Header, now time.Time) tryResult {
	v := tryResult{reason: "HTTP " + strconv.Itoa(code), healthy: true}
	switch {
	case code >= 200 && code < 300:
		return tryResult{healthy: true}
	case code == http.StatusGone:
		v.outcome = hookGone
		v.reason += ": the webhook is gone"
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code == http.StatusTooEarly, code >= 500:
		v.outcome, v.wait = retry, retryAfter(header.Get("Retry-After"), now)
		v.unhealthy = code >= 500 || code == http.StatusTooManyRequests
		v.healthy = !v.unhealthy
	case code >= 300 && code < 400:
		v.outcome = undeliverable
		v.reason += ": redirects are not followed"
	default:
		v.outcome = undeliverable
	}
	return v
}

// classifyError returns the result of a try without a response.
func classifyError(err error) tryResult {
	switch {
	case errors.Is(err, errForgotten), errors.Is(err, errStopping):
		return tryResult{outcome: aborted}
	case errors.Is(err, safedial.ErrForbidden), errors.Is(err, safedial.ErrInvalid):
		return tryResult{outcome: undeliverable, reason: safedial.Explain(err)}
	case errors.Is(err, errTimeout):
		return tryResult{outcome: retry, reason: "no answer in time", unhealthy: true}
	}
	return tryResult{outcome: retry, reason: safedial.Explain(err), unhealthy: true}
}

// retryAfter parses the header of that name: seconds or a date (RFC 9110 §10.2.3).
func retryAfter(value string, now time.Time) time.Duration {
	return backoff.RetryAfter(value, now, longestAsked)
}

// maxWait returns the upper bound of the random wait after so many tries.
func maxWait(tries int) time.Duration {
	if tries > 9 {
		return longestRetry
	}
	return min(firstRetry<<max(tries-1, 0), longestRetry)
}

// tooOld returns the reason of a dead letter whose notification became too old.
func tooOld(tries int, reason string) string {
	return fmt.Sprintf("given up after %d tries; the last: %s", tries, reason)
}
