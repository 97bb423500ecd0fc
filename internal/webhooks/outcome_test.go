package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/outbound/safedial"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	outcomes := map[outcome][]int{
		delivered:     {200, 201, 202, 204, 299},
		retry:         {408, 425, 429, 500, 502, 503, 504, 599, 999},
		undeliverable: {100, 199, 300, 301, 302, 304, 307, 308, 400, 401, 403, 404, 405, 409, 413, 415, 418, 422, 451, 499},
		hookGone:      {410},
	}
	sick := map[int]bool{429: true, 500: true, 502: true, 503: true, 504: true, 599: true, 999: true}
	for want, codes := range outcomes {
		for _, code := range codes {
			v := classify(code, http.Header{"Retry-After": {"7"}}, time.Now())
			if v.outcome != want || v.unhealthy != sick[code] || v.healthy == v.unhealthy {
				t.Errorf("judge(%d) = %+v, want fate %d, sick %v", code, v, want, sick[code])
			}
			if v.outcome != delivered && !strings.Contains(v.reason, fmt.Sprint(code)) {
				t.Errorf("judge(%d): reason %q does not name the status", code, v.reason)
			}
			if (v.wait == 7*time.Second) != (want == retry) {
				t.Errorf("judge(%d): wait = %v", code, v.wait)
			}
		}
	}
}

func TestClassifyError(t *testing.T) {
	t.Parallel()
	refusal := &safedial.Refusal{Host: "inside.example"}
	for _, tt := range []struct {
		err  error
		want outcome
		sick bool
	}{
		{errForgotten, aborted, false},
		{errStopping, aborted, false},
		{fmt.Errorf("dial: %w", refusal), undeliverable, false},
		{errTimeout, retry, true},
		{context.DeadlineExceeded, retry, true},
		{errors.New("dial tcp 10.1.2.3:80: no route"), retry, true},
	} {
		got := classifyError(tt.err)
		if got.outcome != tt.want || got.unhealthy != tt.sick || got.healthy {
			t.Errorf("judgeError(%v) = %+v, want fate %d, sick %v", tt.err, got, tt.want, tt.sick)
		}
		if strings.Contains(got.reason, "10.1.2.3") {
			t.Errorf("reason %q contains an address", got.reason)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                               0,
		"0":                              0,
		"5":                              5 * time.Second,
		" 90 ":                           90 * time.Second,
		"3600":                           time.Hour,
		"7200":                           time.Hour,
		"4294967295":                     time.Hour,
		"99999999999999999999":           0,
		"-5":                             0,
		"5.5":                            0,
		"soon":                           0,
		"Sun, 01 Mar 2026 12:00:30 GMT":  30 * time.Second,
		"Sun, 01 Mar 2026 11:00:00 GMT":  0,
		"Sun, 01 Mar 2099 12:00:00 GMT":  time.Hour,
		"Sunday, 01-Mar-26 12:01:00 GMT": time.Minute,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("retryAfter(%q) = %v, want %v", value, got, want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"5", "Sun, 01 Mar 2026 12:00:30 GMT", "-1", "1e9"} {
		f.Add(s)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		if got := retryAfter(s, now); got < 0 || got > longestAsked {
			t.Errorf("retryAfter(%q) = %v", s, got)
		}
	})
}

func TestMaxWaitGrows(t *testing.T) {
	t.Parallel()
	for tries, want := range map[int]time.Duration{
		0: time.Second, 1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 9: 256 * time.Second,
		10: longestRetry, 100: longestRetry, 1 << 40: longestRetry,
	} {
		if got := maxWait(tries); got != want {
			t.Errorf("patience(%d) = %v, want %v", tries, got, want)
		}
		for range 100 {
			if got := jitter(want); got < minRetry || got > want {
				t.Errorf("jitter(%v) = %v", want, got)
			}
		}
	}
}

func TestEndpointOf(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://A.example/x?y":   "https://a.example:443",
		"http://a.example":        "http://a.example:80",
		"https://a.example.:443/": "https://a.example:443",
		"https://a.example:8443/": "https://a.example:8443",
		"http://[::1]:9/":         "http://::1:9",
		"http://a.example:bad/":   "http://a.example:bad/",
		"nothing":                 "nothing",
	} {
		if got := endpointOf(raw); got != want {
			t.Errorf("endpointOf(%q) = %q, want %q", raw, got, want)
		}
	}
}
