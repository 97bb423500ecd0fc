package push

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

// fate is the outcome of a try for its version.
type fate uint8

const (
	told    fate = iota // delivered
	again               // to be retried
	lost                // dropped into a dead letter
	dropped             // dropped with all versions behind it
	voided              // the hook was changed or the hub is stopping
)

// verdict is the result of a try.
type verdict struct {
	fate fate
	// reason is a text for operators; it contains no address.
	reason string
	// wait is the Retry-After of the webhook.
	wait time.Duration
	// sick is set if the try shows that the endpoint is in trouble, well if it shows that it is
	// not. A try that ends before a request sets neither.
	sick, well bool
}

// judge returns the verdict on an HTTP response.
func judge(code int, header http.Header, now time.Time) verdict {
	v := verdict{reason: "HTTP " + strconv.Itoa(code), well: true}
	switch {
	case code >= 200 && code < 300:
		return verdict{well: true}
	case code == http.StatusGone:
		v.fate = dropped
		v.reason += ": the webhook is gone"
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code == http.StatusTooEarly, code >= 500:
		v.fate, v.wait = again, retryAfter(header.Get("Retry-After"), now)
		v.sick = code >= 500 || code == http.StatusTooManyRequests
		v.well = !v.sick
	case code >= 300 && code < 400:
		v.fate = lost
		v.reason += ": redirects are not followed"
	default:
		v.fate = lost
	}
	return v
}

// judgeError returns the verdict on a try without a response.
func judgeError(err error) verdict {
	switch {
	case errors.Is(err, errForgotten), errors.Is(err, errStopping):
		return verdict{fate: voided}
	case errors.Is(err, safedial.ErrForbidden), errors.Is(err, safedial.ErrInvalid):
		return verdict{fate: lost, reason: safedial.Explain(err)}
	case errors.Is(err, errTimeout):
		return verdict{fate: again, reason: "no answer in time", sick: true}
	}
	return verdict{fate: again, reason: safedial.Explain(err), sick: true}
}

// retryAfter parses the header of that name: seconds or a date (RFC 9110 §10.2.3).
func retryAfter(value string, now time.Time) time.Duration {
	return backoff.RetryAfter(value, now, longestAsked)
}

// patience returns the upper bound of the random wait after so many tries.
func patience(tries int) time.Duration {
	if tries > 9 {
		return longestRetry
	}
	return min(firstRetry<<max(tries-1, 0), longestRetry)
}

// tooOld returns the reason of a dead letter whose notification became too old.
func tooOld(tries int, reason string) string {
	return fmt.Sprintf("given up after %d tries; the last: %s", tries, reason)
}
