package remote

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// TestTriesAreSpread checks that a restarting agent is retried for some seconds, whether its
// card or the message did not reach it. An agent whose circuit breaker is open is not retried.
func TestTriesAreSpread(t *testing.T) {
	t.Parallel()
	dead := fmt.Errorf("dial: %w", peer.ErrUnreachable)
	for name, tt := range map[string]struct {
		err   error
		took  time.Duration
		tries []time.Duration // the latest moment of each; each is at most a second earlier
	}{
		"card":           {&cardError{dead}, 0, []time.Duration{0, 3 * time.Second, 6 * time.Second}},
		"broken card":    {&cardError{errors.New("status 502")}, 0, []time.Duration{0, 3 * time.Second, 6 * time.Second}},
		"send":           {fmt.Errorf("%w: %w", errSend, dead), 2 * time.Second, []time.Duration{0, 6 * time.Second}},
		"held back":      {fmt.Errorf("%w: %w", errSend, peer.ErrOpen), 0, []time.Duration{0}},
		"slow to fail":   {&cardError{dead}, 4 * time.Second, []time.Duration{0, 5 * time.Second, 9 * time.Second}},
		"slower still":   {&cardError{dead}, 11 * time.Second, []time.Duration{0}},
		"send, for long": {fmt.Errorf("%w: %w", errSend, dead), 8 * time.Second, []time.Duration{0, 9 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				for try := 1; ; try++ {
					at := time.Since(began)
					if try > len(tt.tries) {
						t.Fatalf("try %d is made after %v", try, at)
					}
					if most := tt.tries[try-1]; at > most || at < most-time.Second {
						t.Errorf("try %d is made after %v, want at most a second before %v", try, at, most)
					}
					time.Sleep(tt.took)
					synctest.Wait()
					if !retryable(tt.err, began, try) {
						if try != len(tt.tries) {
							t.Errorf("there are %d tries, want %d", try, len(tt.tries))
						}
						return
					}
					if !pause(context.Background(), untilRetry(began, tt.err, try)) {
						t.Fatal("the pause was cut short")
					}
				}
			})
		})
	}
}
