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
	// minRetry is the least wait before a version is tried again, firstRetry and
	// longestRetry are the bounds that the random wait has at first and at most.
	minRetry     = 200 * time.Millisecond
	firstRetry   = time.Second
	longestRetry = 5 * time.Minute
	// longestAsked is the longest Retry-After that is honoured.
	longestAsked = time.Hour
)

// fate is what becomes of a version that was tried.
type fate uint8

const (
	told    fate = iota // the webhook has it
	again               // to be tried again
	lost                // given up
	dropped             // given up with everything behind it
	voided              // nobody asks any more
)

// verdict is what a try came to.
type verdict struct {
	fate fate
	// reason is for a person; it names no address.
	reason string
	// wait is how long the webhook asked to be left alone.
	wait time.Duration
	// sick says that the endpoint is in trouble, well that it is not. A try that ends
	// before it got there says neither.
	sick, well bool
}

// judge says what an answer means.
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

// judgeError says what an error means that came instead of an answer.
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

// retryAfter reads the header of that name: seconds or a date (RFC 9110 §10.2.3).
func retryAfter(value string, now time.Time) time.Duration {
	return backoff.RetryAfter(value, now, longestAsked)
}

// patience is the bound of the random wait after so many tries.
func patience(tries int) time.Duration {
	if tries > 9 {
		return longestRetry
	}
	return min(firstRetry<<max(tries-1, 0), longestRetry)
}

// tooOld is the reason for giving up a notification of that age.
func tooOld(tries int, reason string) string {
	return fmt.Sprintf("given up after %d tries; the last: %s", tries, reason)
}
