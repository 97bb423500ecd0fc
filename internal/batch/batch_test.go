package batch_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/batch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// destination is a destination. It lets one send through when the test allows it.
type destination struct {
	batch.Batcher[string, int]

	open chan error // the result of the next send

	mu   sync.Mutex // guards sent
	sent [][]int
}

func (r *destination) send(items []int) error {
	err := <-r.open
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, items)
	return err
}

// start sends items one after the other, each from a goroutine of its own that then waits. It
// returns the results of their Sends, by item.
func (r *destination) start(ctx context.Context, items ...int) map[int]chan error {
	ends := map[int]chan error{}
	for _, item := range items {
		end := make(chan error, 1)
		ends[item] = end
		go func() { end <- r.Send(ctx, "a", item, r.send) }()
		synctest.Wait()
	}
	return ends
}

// Items that come during a send go together, in order, and each Send returns its own result.
func TestTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, broken := &destination{open: make(chan error)}, errors.New("broken")
		ends := r.start(t.Context(), 1, 2, 3)
		r.open <- nil
		if err := <-ends[1]; err != nil {
			t.Errorf("Send(1) = %v", err)
		}
		synctest.Wait()
		more := r.start(t.Context(), 4)
		r.open <- broken
		for _, item := range []int{2, 3} {
			if err := <-ends[item]; !errors.Is(err, broken) {
				t.Errorf("Send(%d) = %v, want the result of its send", item, err)
			}
		}
		r.open <- nil
		if err := <-more[4]; err != nil {
			t.Errorf("Send(4) = %v", err)
		}
		if diff := cmp.Diff([][]int{{1}, {2, 3}, {4}}, r.sent); diff != "" {
			t.Errorf("sent mismatch (-want +got):\n%s", diff)
		}
	})
}

// Items for another key do not wait.
func TestOtherKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &destination{open: make(chan error)}
		ends := r.start(t.Context(), 1)
		if err := r.Send(t.Context(), "b", 2, func([]int) error { return nil }); err != nil {
			t.Error(err)
		}
		r.open <- nil
		if err := <-ends[1]; err != nil {
			t.Error(err)
		}
	})
}

// No send has more than Most items.
func TestMaxItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &destination{open: make(chan error, 9)}
		var all []int
		for i := range batch.MaxItems + 2 {
			all = append(all, i)
		}
		ends := r.start(t.Context(), all...)
		for range 3 {
			r.open <- nil
		}
		for _, end := range ends {
			if err := <-end; err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff([][]int{all[:1], all[1 : batch.MaxItems+1], all[batch.MaxItems+1:]}, r.sent); diff != "" {
			t.Errorf("sent mismatch (-want +got):\n%s", diff)
		}
	})
}

// The others do not wait for a caller whose context ends, even if it was to send next.
func TestEndOfAWaitingCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, gone := &destination{open: make(chan error)}, errors.New("gone")
		first := r.start(t.Context(), 1)
		ctx, leave := context.WithCancelCause(t.Context())
		second := r.start(ctx, 2)
		third := r.start(t.Context(), 3)
		leave(gone)
		if err := <-second[2]; !errors.Is(err, gone) {
			t.Errorf("Send(2) = %v, want the cause of its context", err)
		}
		r.open <- nil
		r.open <- nil
		for _, end := range []chan error{first[1], third[3]} {
			if err := <-end; err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff([][]int{{1}, {3}}, r.sent); diff != "" {
			t.Errorf("sent mismatch (-want +got):\n%s", diff)
		}
	})
}

// If a send fails because the leader's context has ended, the others send again.
func TestLeaderOutOfTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &destination{open: make(chan error)}
		first := r.start(t.Context(), 1)
		ctx, leave := context.WithCancel(t.Context())
		second := r.start(ctx, 2)
		third := r.start(t.Context(), 3)
		r.open <- nil
		synctest.Wait() // 2 leads
		leave()
		r.open <- context.Canceled
		r.open <- nil
		for item, end := range map[int]chan error{1: first[1], 3: third[3]} {
			if err := <-end; err != nil {
				t.Errorf("Send(%d) = %v", item, err)
			}
		}
		if err := <-second[2]; !errors.Is(err, context.Canceled) {
			t.Errorf("Send(2) = %v", err)
		}
		if diff := cmp.Diff([][]int{{1}, {2, 3}, {3}}, r.sent); diff != "" {
			t.Errorf("sent mismatch (-want +got):\n%s", diff)
		}
	})
}

// After a batch of many items the next sender waits for others, and after a small one it does not.
func TestCrowd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &destination{open: make(chan error, 9)}
		ends := r.start(t.Context(), 0, 1, 2, 3, 4)
		r.open <- nil
		r.open <- nil
		for _, end := range ends {
			<-end
		}
		began := time.Now()
		ends = r.start(t.Context(), 5, 6)
		r.open <- nil
		<-ends[5]
		<-ends[6]
		if d := time.Since(began); d == 0 || d > time.Millisecond {
			t.Errorf("after many items a sender waits %v for others", d)
		}
		began = time.Now()
		r.open <- nil
		<-r.start(t.Context(), 7)[7]
		if d := time.Since(began); d != 0 {
			t.Errorf("after two items a sender waits %v for others", d)
		}
		if diff := cmp.Diff([][]int{{0}, {1, 2, 3, 4}, {5, 6}, {7}}, r.sent); diff != "" {
			t.Errorf("sent mismatch (-want +got):\n%s", diff)
		}
	})
}

// Many goroutines that come and go: each item is sent, and no Send waits forever.
func TestManyGoroutines(t *testing.T) {
	t.Parallel()
	var (
		c     batch.Batcher[int, int]
		mu    sync.Mutex
		seen  = map[int]bool{}
		owned sync.WaitGroup
	)
	for g := range 16 {
		owned.Go(func() {
			for i := range 200 {
				item := g*1000 + i
				ctx, cancel := context.WithCancel(t.Context())
				if i%7 == 0 {
					cancel()
				}
				err := c.Send(ctx, i%2, item, func(all []int) error {
					mu.Lock()
					defer mu.Unlock()
					for _, one := range all {
						seen[one] = true
					}
					return nil
				})
				cancel()
				mu.Lock()
				if err == nil && !seen[item] {
					t.Errorf("item %d was not sent", item)
				}
				mu.Unlock()
			}
		})
	}
	owned.Wait()
}
