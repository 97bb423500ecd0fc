package backoff_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
)

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := backoff.Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("Sleep = %v after %v, want nil after a minute", err, time.Since(began))
		}
		tired := errors.New("tired")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, tired)
		defer cancel()
		if err := backoff.Sleep(ctx, 0); err != nil {
			t.Errorf("Sleep of nothing = %v", err)
		}
		if err := backoff.Sleep(ctx, time.Hour); !errors.Is(err, tired) || time.Since(began) != time.Minute+time.Second {
			t.Errorf("Sleep = %v after %v, want the cause after a second", err, time.Since(began))
		}
		if err := backoff.Sleep(ctx, -1); !errors.Is(err, tired) {
			t.Errorf("Sleep of nothing = %v, want the cause", err)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "-5": 0, "5": 5 * time.Second, " 90 ": 90 * time.Second, "3601": time.Hour, "9223372036854775807": time.Hour,
		"99999999999999999999": 0, "5.5": 0, "soon": 0,
		"Sun, 01 Mar 2026 12:00:30 GMT": 30 * time.Second, "Sun, 01 Mar 2026 11:00:00 GMT": 0, "Sun, 01 Mar 2099 12:00:00 GMT": time.Hour,
	} {
		if got := backoff.RetryAfter(value, now, time.Hour); got != want {
			t.Errorf("RetryAfter(%q) = %v, want %v", value, got, want)
		}
	}
}
