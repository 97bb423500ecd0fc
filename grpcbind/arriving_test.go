package grpcbind

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/membudget"
)

// A slow message has a place from a quarter of a second on until it has arrived, its call has ended,
// or its time is over.
func TestPlacesOfSlowMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &Binding{cfg: Config{Limits: Limits{BodyTime: 10 * time.Second}}, arrivals: newArrivals(&membudget.Budget{Max: 10 << 20}, 1<<20)}
		call := func() (ctx context.Context, end func()) {
			parent, end := context.WithCancel(t.Context())
			ctx, err := b.arriving(parent, nil)
			if err != nil {
				t.Fatal(err)
			}
			return ctx, end
		}
		wantSlow := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			b.arrivals.mu.Lock()
			defer b.arrivals.mu.Unlock()
			if got := b.arrivals.places; got != want {
				t.Errorf("%s, %d messages are slow, want %d", when, got, want)
			}
		}
		var all []context.Context
		var ends []func()
		for range 5 {
			ctx, end := call()
			all, ends = append(all, ctx), append(ends, end)
		}
		wantSlow("at first", 0)
		fast, end := call()
		defer end()
		time.Sleep(100 * time.Millisecond)
		arrived(fast)
		time.Sleep(200 * time.Millisecond)
		wantSlow("after a while", 5)
		if fast.Err() != nil {
			t.Errorf("a message that has arrived: %v", fast.Err())
		}
		late, end := call()
		defer end()
		time.Sleep(300 * time.Millisecond)
		if !errors.Is(late.Err(), context.DeadlineExceeded) {
			t.Errorf("a slow message without a place: %v, want that its call ends", late.Err())
		}
		wantSlow("beyond the limit", 5)
		ends[0]()
		arrived(all[1])
		arrived(all[1])
		wantSlow("when one has ended and one has arrived", 3)
		time.Sleep(10 * time.Second)
		wantSlow("when the time is over", 0)
		if !errors.Is(all[2].Err(), context.DeadlineExceeded) || all[1].Err() != nil {
			t.Errorf("at the end, %v and %v; want that the call without its message ends", all[2].Err(), all[1].Err())
		}
		for _, end := range ends {
			end()
		}
	})
}
