package membudget_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/membudget"
)

// acquire acquires n bytes for a request, or fails the test.
func acquire(t *testing.T, b *membudget.Budget, n int64) *membudget.Hold {
	t.Helper()
	h, err := b.Acquire(t.Context(), n)
	if err != nil {
		t.Fatalf("Acquire(%d): %v", n, err)
	}
	return h
}

// A request waits for memory, for a limited time, and its caller receives the time after which to
// retry. A request above the whole budget is performed alone.
func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &membudget.Budget{Max: 100, Wait: 3 * time.Second}
		alone := acquire(t, b, 1000)
		began := time.Now()
		_, err := b.Acquire(t.Context(), 1)
		var public *apierror.Error
		if !errors.Is(err, apierror.ErrExhausted) || !errors.As(err, &public) || public.RetryAfter <= 0 {
			t.Errorf("Acquire = %v, want ErrExhausted with RetryAfter", err)
		}
		if waited := time.Since(began); waited != 3*time.Second {
			t.Errorf("waited for %v, want 3s", waited)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("gone")
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err := b.Acquire(ctx, 1); !errors.Is(err, cause) {
			t.Errorf("Acquire of a caller that disconnects = %v, want %v", err, cause)
		}
		alone.Release()
		alone.Release()
		acquire(t, b, 100).Release()
		if got, want := b.Stats(), (membudget.Stats{Max: 100, Refused: 1}); got != want {
			t.Errorf("Stats = %+v, want %+v", got, want)
		}
	})
}

// An operation that has a part of the budget gets more before an answer that waits for this part.
func TestMoreComesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &membudget.Budget{Max: 100}
		part := acquire(t, b, 20)
		var wg sync.WaitGroup
		wg.Go(func() {
			answer, err := b.AcquireLong(t.Context(), membudget.Answer, 90)
			if err != nil {
				t.Errorf("AcquireLong: %v", err)
			}
			answer.Release()
		})
		synctest.Wait()
		began := time.Now()
		rest, err := b.AcquireMore(t.Context(), 60)
		if took := time.Since(began); err != nil || took > 0 {
			t.Errorf("AcquireMore = %v after %v, want the rest at once", err, took)
		}
		rest.Release()
		part.Release()
		wg.Wait()
		if used := b.Stats().Used; used != 0 {
			t.Errorf("%d bytes are used at the end", used)
		}
	})
}

// Answers are served before accepted work, and that before requests; within a class the order is
// that of arrival. A small operation does not overtake a large one of its class.
func TestOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &membudget.Budget{Max: 100}
		first := acquire(t, b, 100)
		var mu sync.Mutex
		var got []string
		var wg sync.WaitGroup
		for _, op := range []struct {
			name  string
			class membudget.Class
			n     int64
		}{
			{"request 1", membudget.Request, 90},
			{"request 2", membudget.Request, 20},
			{"work 1", membudget.Work, 100},
			{"answer 1", membudget.Answer, 100},
			{"work 2", membudget.Work, 90},
			{"answer 2", membudget.Answer, 100},
		} {
			wg.Go(func() {
				h, err := b.AcquireLong(t.Context(), op.class, op.n)
				if err != nil {
					t.Errorf("%s: %v", op.name, err)
				}
				mu.Lock()
				got = append(got, op.name)
				mu.Unlock()
				time.Sleep(time.Second)
				h.Release()
			})
			synctest.Wait()
		}
		if _, ok := b.TryAcquire(0); ok {
			t.Error("TryAcquire has overtaken waiting operations")
		}
		first.Release()
		wg.Wait()
		want := []string{"answer 1", "answer 2", "work 1", "work 2", "request 1", "request 2"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("order mismatch (-want +got):\n%s", diff)
		}
	})
}

// The first operation leaves the queue: those behind it that fit are served at once.
func TestLeavingMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &membudget.Budget{Max: 100, Wait: time.Second}
		held, began := acquire(t, b, 60), time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := b.Acquire(t.Context(), 50); err == nil {
				t.Error("50 bytes of 40 were acquired")
			}
		})
		synctest.Wait()
		wg.Go(func() {
			h, err := b.AcquireLong(t.Context(), membudget.Request, 40)
			if err != nil {
				t.Error(err)
			}
			if waited := time.Since(began); waited != time.Second {
				t.Errorf("40 bytes of 40 were acquired after %v, want when the first has left, after 1s", waited)
			}
			h.Release()
		})
		wg.Wait()
		held.Release()
	})
}

// Accepted work that waits for work that waits for memory continues after the stall, one
// operation at a time.
func TestStalledWorkContinues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &membudget.Budget{Max: 10, Stall: time.Minute}
		held := acquire(t, b, 10)
		began := time.Now()
		var mu sync.Mutex
		var got []time.Duration
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := b.AcquireLong(t.Context(), membudget.Work, 10); err != nil {
					t.Error(err)
				}
				mu.Lock()
				got = append(got, time.Since(began))
				mu.Unlock()
			})
		}
		wg.Wait()
		slices.Sort(got)
		if diff := cmp.Diff([]time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute}, got); diff != "" {
			t.Errorf("times mismatch (-want +got):\n%s", diff)
		}
		held.Release()
	})
}

func TestTryAcquireLeavesAQuarter(t *testing.T) {
	t.Parallel()
	b := &membudget.Budget{Max: 100}
	h, ok := b.TryAcquire(75)
	if _, more := b.TryAcquire(1); !ok || more {
		t.Errorf("TryAcquire(75), TryAcquire(1) = %v, %v, want true, false", ok, more)
	}
	acquire(t, b, 25).Release()
	h.Resize(10)
	if s := b.Stats(); s.Used != 10 {
		t.Errorf("used = %d after Resize(10)", s.Used)
	}
}

// A nil Budget allows everything, and a nil Hold holds nothing.
func TestNil(t *testing.T) {
	t.Parallel()
	var b *membudget.Budget
	h, ok := b.TryAcquire(1 << 40)
	h.Release()
	acquire(t, b, 1<<40).Release()
	if l, err := b.AcquireLong(t.Context(), membudget.Work, 1<<40); !ok || err != nil || l != nil || b.Stats() != (membudget.Stats{}) {
		t.Errorf("a nil Budget refuses: %v, %v", ok, err)
	}
}

// All bytes are returned, whatever happens to the operations.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &membudget.Budget{Max: 50, Wait: 20 * time.Millisecond}
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%40+1)*time.Millisecond)
				defer cancel()
				h, err := b.Acquire(ctx, int64(i%60))
				if err != nil {
					return
				}
				if s := b.Stats(); s.Used > s.Max {
					t.Errorf("%d bytes are used of %d", s.Used, s.Max)
				}
				time.Sleep(time.Millisecond)
				h.Release()
			})
		}
		wg.Wait()
		if s := b.Stats(); s.Used != 0 || s.Waiting != 0 {
			t.Errorf("Stats = %+v, want none used or waiting", s)
		}
	})
}

func TestDecoded(t *testing.T) {
	t.Parallel()
	if got := membudget.Decoded([]byte(`[1,2,3]`), 6, 48); got != 6*7+2*48 {
		t.Errorf("Decoded = %d", got)
	}
}

// closer is a body that ends well.
type closer struct{ io.Reader }

func (closer) Close() error { return nil }

// An account holds the need of its largest answer. Small answers need nothing, nor do those without an account.
func TestAccount(t *testing.T) {
	t.Parallel()
	b := &membudget.Budget{Max: 64 << 20, Wait: time.Millisecond}
	a := &membudget.Account{Budget: b, Factor: 3}
	ctx := a.Context(t.Context())
	read := func(ctx context.Context, n, size int64) error {
		_, err := io.Copy(io.Discard, membudget.Counted(ctx, &http.Response{Body: closer{io.LimitReader(zeros{}, n)}, ContentLength: size}))
		return err
	}
	for i, step := range []struct{ n, size, want int64 }{
		{60 << 10, -1, 0},
		{2 << 20, 2 << 20, 6 << 20},
		{1 << 20, 1 << 20, 6 << 20},
		{3 << 20, -1, 9 << 20},
	} {
		if err := read(ctx, step.n, step.size); err != nil {
			t.Fatal(err)
		}
		if used := b.Stats().Used; used < step.want || used > step.want+step.want/4 {
			t.Errorf("after answer %d: %d bytes are used, want %d", i, used, step.want)
		}
	}
	other := &membudget.Account{Budget: b, Factor: 3}
	if err := read(other.Context(t.Context()), 20<<20, -1); !errors.Is(err, apierror.ErrExhausted) {
		t.Errorf("another operation beyond the budget: %v", err)
	}
	a.Charge(10 << 20)
	a.Charge(5 << 20)
	if used := b.Stats().Used - 64<<20; used > 10<<20 {
		t.Errorf("%d bytes are used beyond the budget, want at most 10 MiB", used)
	}
	a.Release()
	other.Release()
	if err := read(t.Context(), 20<<20, -1); err != nil || b.Stats().Used != 0 {
		t.Errorf("an answer without an account: %v, %d bytes are used", err, b.Stats().Used)
	}
}

// An operation with a need above the whole budget is performed alone, whatever it holds already.
func TestAccountAboveTheBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &membudget.Budget{Max: 100}
		a := &membudget.Account{Budget: b, Factor: 3}
		began := time.Now()
		for _, n := range []int64{20, 150, 160} {
			if err := a.Acquire(t.Context(), n); err != nil {
				t.Errorf("Acquire(%d): %v", n, err)
			}
		}
		if took, used := time.Since(began), b.Stats().Used; took > 0 || used != 100 {
			t.Errorf("%d bytes are used after %v, want the whole budget at once", used, took)
		}
		a.Release()
		if used := b.Stats().Used; used != 0 {
			t.Errorf("%d bytes are used at the end", used)
		}
	})
}

// A message of a peer takes memory while it is read, waits for it, and takes it beyond the budget after that.
func TestTaken(t *testing.T) {
	t.Parallel()
	b := &membudget.Budget{Max: 1 << 20, Wait: time.Millisecond}
	body := b.Taken(t.Context(), closer{io.LimitReader(zeros{}, 1<<20)}, 2)
	if n, err := io.Copy(io.Discard, body); n != 1<<20 || err != nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
	if used := b.Stats().Used; used < 2<<20 {
		t.Errorf("%d bytes are used for a body of 1 MiB", used)
	}
	body.Close()
	if used := b.Stats().Used; used != 0 {
		t.Errorf("%d bytes are used at the end", used)
	}
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
