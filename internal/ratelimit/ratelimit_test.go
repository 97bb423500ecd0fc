package ratelimit_test

import (
	"errors"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/ratelimit"
	"github.com/parley-a2a/parley/task"
)

// retry returns the retry time of a refusal, and fails the test if err is not a refusal.
func retry(t *testing.T, err error) time.Duration {
	t.Helper()
	var f *apierror.Error
	if !errors.Is(err, apierror.ErrExhausted) || !errors.As(err, &f) || f.RetryAfter <= 0 || f.Message == "" {
		t.Fatalf("err = %#v, want ErrExhausted with a message and RetryAfter", err)
	}
	return f.RetryAfter
}

func TestNothingIsLimited(t *testing.T) {
	t.Parallel()
	for _, cfg := range []ratelimit.Config{{}, {Requests: -1, Bytes: -1}, {Burst: 5}, {Requests: math.NaN()}} {
		l := ratelimit.New(cfg)
		if l != nil {
			t.Fatalf("New(%+v) = %v, want nil", cfg, l)
		}
		if err := errors.Join(l.Request("ann"), l.Bytes("ann", math.MaxInt)); err != nil {
			t.Errorf("a nil Limiter refuses: %v", err)
		}
	}
}

// A caller has its burst at once, then the rate; the retry time is sufficient and not longer
// than necessary.
func TestRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := ratelimit.New(ratelimit.Config{Requests: 4, Burst: 3})
		for i := range 3 {
			if err := l.Request("ann"); err != nil {
				t.Fatalf("request %d: %v", i, err)
			}
		}
		for range 10 { // refused requests are not counted
			if wait := retry(t, l.Request("ann")); wait < 250*time.Millisecond || wait > 251*time.Millisecond {
				t.Fatalf("RetryAfter = %v, want 250ms", wait)
			}
		}
		if err := l.Request("bob"); err != nil {
			t.Errorf("another caller is refused: %v", err)
		}
		time.Sleep(retry(t, l.Request("ann")))
		synctest.Wait()
		if err := l.Request("ann"); err != nil {
			t.Errorf("after the wait: %v", err)
		}
		retry(t, l.Request("ann"))
		time.Sleep(time.Hour) // no more than the burst accrues
		synctest.Wait()
		for i := range 3 {
			if err := l.Request("ann"); err != nil {
				t.Fatalf("request %d after a pause: %v", i, err)
			}
		}
		retry(t, l.Request("ann"))
	})
}

func TestDefaultBurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for rate, want := range map[float64]int{0.1: 1, 0.5: 1, 2: 4, 10: 20} {
			l := ratelimit.New(ratelimit.Config{Requests: rate})
			n := 0
			for l.Request("ann") == nil {
				n++
			}
			if n != want {
				t.Errorf("rate %g: %d requests at once, want %d", rate, n, want)
			}
		}
	})
}

// A request may be larger than the allowance, and is paid for afterwards.
func TestBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := ratelimit.New(ratelimit.Config{Bytes: 1000})
		if err := errors.Join(l.Request("ann"), l.Bytes("ann", 4000)); err != nil {
			t.Fatalf("the first request: %v", err)
		}
		wait := retry(t, l.Request("ann"))
		if wait < 3*time.Second || wait > 3001*time.Millisecond {
			t.Errorf("RetryAfter = %v, want 3s", wait)
		}
		retry(t, l.Bytes("ann", 1)) // a request that had begun before
		if err := errors.Join(l.Request("bob"), l.Bytes("bob", 1)); err != nil {
			t.Errorf("another caller is refused: %v", err)
		}
		time.Sleep(wait)
		synctest.Wait()
		if err := errors.Join(l.Request("ann"), l.Bytes("ann", 1)); err != nil {
			t.Errorf("after the wait: %v", err)
		}
	})
}

// A very low rate gives a bounded retry time.
func TestLongWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := ratelimit.New(ratelimit.Config{Requests: 1e-9})
		if err := l.Request("ann"); err != nil {
			t.Fatal(err)
		}
		if wait := retry(t, l.Request("ann")); wait != time.Hour {
			t.Errorf("RetryAfter = %v, want 1h", wait)
		}
	})
}

// Idle callers are removed; active ones are remembered, up to a limit.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := ratelimit.New(ratelimit.Config{Requests: 1, Burst: 1, Bytes: 10})
		ask := func(prefix string, n int) {
			for i := range n {
				if err := l.Request(task.Owner(prefix + strconv.Itoa(i))); err != nil {
					t.Fatalf("%s%d: %v", prefix, i, err)
				}
			}
		}
		ask("a", 1000)
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := l.Request("busy"); err != nil {
			t.Fatal(err)
		}
		ask("b", 100)
		if n := ratelimit.Callers(l); n > 200 {
			t.Errorf("%d callers are known, want the 101 that are busy", n)
		}
		retry(t, l.Request("busy"))
		ask("c", ratelimit.MaxCallers+100)
		if n := ratelimit.Callers(l); n > ratelimit.MaxCallers {
			t.Errorf("%d callers are known, want at most %d", n, ratelimit.MaxCallers)
		}
	})
}

// Concurrent requests get exactly the allowance.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := ratelimit.New(ratelimit.Config{Requests: 1, Burst: 50})
		var wg sync.WaitGroup
		var allowed atomic.Int64
		for range 8 {
			wg.Go(func() {
				for range 20 {
					if l.Request("ann") == nil {
						allowed.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if n := allowed.Load(); n != 50 {
			t.Errorf("%d of 160 requests were allowed, want 50", n)
		}
	})
}

func TestAllocations(t *testing.T) {
	l := ratelimit.New(ratelimit.Config{Requests: 1e9, Bytes: 1e15})
	if err := l.Request("ann"); err != nil {
		t.Fatal(err)
	}
	n := testing.AllocsPerRun(100, func() {
		if l.Request("ann") != nil || l.Bytes("ann", 1000) != nil {
			t.Fatal("refused")
		}
	})
	if n != 0 {
		t.Errorf("a request that is allowed costs %g allocations, want none", n)
	}
}
