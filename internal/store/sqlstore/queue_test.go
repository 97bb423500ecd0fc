package sqlstore

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var errClosed = errors.New("closed")

type testRequest struct{ size int }

func (r *testRequest) Bytes() int       { return r.size }
func (r *testRequest) Done() chan error { return nil }

func TestBatchesAreLimited(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sizes []int
		want  []int
	}{
		"number":      {make([]int, 600), []int{256, 256, 88}},
		"bytes":       {[]int{3 << 20, 1 << 20, 1, 1}, []int{2, 1, 1}},
		"large":       {[]int{1 << 19, 1 << 19, 1 << 19, 1}, []int{1, 2, 1}},
		"one is more": {[]int{9 << 20, 9 << 20, 1}, []int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := NewQueue[*testRequest](errClosed)
			var in []*testRequest
			for _, size := range tt.sizes {
				r := &testRequest{size: size}
				in = append(in, r)
				if err := q.Send(r); err != nil {
					t.Fatal(err)
				}
			}
			q.Close()
			if err := q.Send(&testRequest{}); !errors.Is(err, errClosed) {
				t.Errorf("Send to a closed queue = %v, want errClosed", err)
			}
			var got []int
			var out []*testRequest
			for batch := q.Take(nil); len(batch) > 0; batch = q.Take(nil) {
				got = append(got, len(batch))
				out = append(out, batch...)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("batches mismatch (-want +got):\n%s", diff)
			}
			// Small requests pass large ones.
			isLarge := func(r *testRequest) bool { return r.size >= largeBytes }
			want := slices.Concat(without(in, isLarge), without(in, func(r *testRequest) bool { return !isLarge(r) }))
			if !slices.Equal(out, want) {
				t.Errorf("the requests are out of order: sizes %v, want %v", sizesOf(out), sizesOf(want))
			}
		})
	}
}

func without(all []*testRequest, out func(*testRequest) bool) []*testRequest {
	return slices.DeleteFunc(slices.Clone(all), out)
}

func sizesOf(all []*testRequest) (sizes []int) {
	for _, r := range all {
		sizes = append(sizes, r.size)
	}
	return sizes
}

// pacing is a queue with a writer whose time is that of a bubble.
type pacing struct {
	t *testing.T
	q *Queue[*testRequest]
}

func (p pacing) put(sizes ...int) {
	p.t.Helper()
	for _, size := range sizes {
		if err := p.q.Send(&testRequest{size: size}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// want takes a batch, which must have these sizes and be there after some time.
func (p pacing) want(after time.Duration, sizes ...int) {
	p.t.Helper()
	began := time.Now()
	got := sizesOf(p.q.Take(nil))
	if took := time.Since(began); took != after || !slices.Equal(got, sizes) {
		p.t.Errorf("took %v after %v, want %v after %v", got, took, sizes, after)
	}
}

// TestLargeRequestsMakeWay: small requests pass large ones, and after a batch of large requests have
// the writer for as long as it has taken. They pass a bounded number of times. Without small
// requests, large ones do not wait.
func TestLargeRequestsMakeWay(t *testing.T) {
	t.Parallel()
	const large = 9 << 20
	synctest.Test(t, func(t *testing.T) {
		p := pacing{t, NewQueue[*testRequest](errClosed)}
		p.put(large, large, 1, 2)
		p.want(0, 1, 2)
		p.want(0, large)
		time.Sleep(100 * time.Millisecond) // the commit
		synctest.Wait()
		p.want(100*time.Millisecond, large)
		time.Sleep(time.Second)
		synctest.Wait()
		p.put(large)
		time.AfterFunc(10*time.Millisecond, func() { p.put(3) })
		p.want(0, large) // the last small request is long ago
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()

		p.put(large)
		p.want(0, 3)
		time.AfterFunc(5*time.Millisecond, func() { p.put(4) })
		p.want(5*time.Millisecond, 4) // a small request ends the rest of the writer
		p.want(15*time.Millisecond, large)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for i := range maxPassed + 2 {
			p.put(i)
		}
		p.put(large)
		p.want(0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		p.q.Close()
		p.want(0, large) // a queue that is closed does not wait
	})
}

// TestLargeRequestsAreNotStarved: with small requests all the time, a large one is taken after a
// bounded number of batches, beside the rest that the one before has left.
func TestLargeRequestsAreNotStarved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pacing{t, NewQueue[*testRequest](errClosed)}
		p.put(largeBytes)
		for i := range maxPassed {
			p.put(i)
			p.want(0, i)
		}
		p.put(100)
		p.want(0, largeBytes)
		time.Sleep(100 * time.Millisecond) // the commit
		synctest.Wait()
		p.put(largeBytes)
		p.want(0, 100)
		for i := range 2 * maxPassed { // for as long as the commit has taken, any number passes
			p.put(i)
			p.want(0, i)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		p.put(200)
		p.want(0, largeBytes)
	})
}

// Gather ends as soon as as many requests wait as are expected, or after its time.
func TestGather(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[*testRequest](errClosed)
		send := func(size int) {
			if err := q.Send(&testRequest{size: size}); err != nil {
				t.Fatal(err)
			}
		}
		gather := func(n int, came func()) time.Duration {
			began := time.Now()
			done := make(chan bool)
			go func() {
				q.Gather(n, time.Second)
				close(done)
			}()
			synctest.Wait()
			came()
			<-done
			return time.Since(began)
		}
		send(1)
		if got := gather(2, func() { send(1) }); got != time.Second {
			t.Errorf("with one request of two, Gather took %v", got)
		}
		if got := gather(2, func() { send(1); send(1) }); got != 0 {
			t.Errorf("with both requests, Gather took %v", got)
		}
		if got := gather(1, q.Close); got != 0 {
			t.Errorf("Gather took %v after Close", got)
		}
	})
}
