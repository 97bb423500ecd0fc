package stalled

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley"
)

// Servers read every body into memory at once: a hundred bodies of 9 MiB take 10 GiB, and no other
// caller gets an answer for a minute. Here large requests share one budget, and their callers get
// an answer or the time after which to retry, while small requests are answered beside them. The
// test measures the heap and runs alone.
func TestLargeBodiesAreBounded(t *testing.T) {
	const (
		size    = 6 << 20
		callers = 40
		// The budget, twice for the collector, and the bodies of the test's own callers.
		most = 2*(64<<20) + 2*size + 300<<20
	)
	h := start(t, options{store: newStore(t, "sqlite"), size: parley.Limits{Memory: 64 << 20}})
	body := sendParams(strings.Repeat("x", size))
	stop, peak := make(chan struct{}), new(atomic.Uint64)
	var sampling, sending sync.WaitGroup
	sampling.Go(func() { watchHeap(stop, peak) })
	codes := make(chan int, callers)
	for range callers {
		sending.Go(func() {
			resp, err := h.open(t.Context(), call{"mallory", http.MethodPost, "/v1/a2a/echo/message:send", body, nil})
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			if resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") == "" {
				t.Error("a refusal without Retry-After")
			}
			codes <- resp.StatusCode
		})
	}
	for i := range 20 {
		if w := h.to("ann", "echo", sendParams(fmt.Sprint("small ", i))); w.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("a small request: %+v", w)
		}
	}
	sending.Wait()
	close(stop)
	close(codes)
	sampling.Wait()
	count := make(map[int]int)
	for c := range codes {
		count[c]++
	}
	if count[http.StatusOK] == 0 || count[http.StatusOK]+count[http.StatusTooManyRequests] != callers {
		t.Errorf("answers by status: %v, want 200 and 429 only", count)
	}
	if p := peak.Load(); p > most {
		t.Errorf("the heap has grown to %d MiB, want at most %d MiB", p>>20, most>>20)
	}
	t.Logf("heap %d MiB, answers %v", peak.Load()>>20, count)
}

// watchHeap records the largest heap until stop is closed.
func watchHeap(stop <-chan struct{}, peak *atomic.Uint64) {
	var m runtime.MemStats
	for {
		select {
		case <-stop:
			return
		default:
		}
		runtime.ReadMemStats(&m)
		peak.Store(max(peak.Load(), m.HeapInuse))
		runtime.Gosched()
	}
}
