package crash

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// metric returns the value of a metric; zero if it has none.
func (h *smallHub) metric(name string) int {
	h.t.Helper()
	_, page := h.read("/metrics")
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(page)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		h.t.Fatal(err)
	}
	return int(n)
}

// TestWaitingTasksNeedNoGoroutines kills a hub whose tasks wait for a worker that does not come. The
// next process is ready although it resumes only a part of them at one time, and afterwards they
// have neither runs nor goroutines.
func TestWaitingTasksNeedNoGoroutines(t *testing.T) {
	t.Parallel()
	const tasks, senders, most = 3000, 16, 400 // the hub rouses 256 at one time
	h := &smallHub{t, hubtest.Start(t, hubtest.Options{Config: "agents: [{name: a, queue: a}]\n"})}
	idle := h.metric("go_goroutines")
	var next atomic.Int64
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			for i := next.Add(1); i <= tasks && !t.Failed(); i = next.Add(1) {
				r := hubtest.Request{URL: h.URL() + "/v1/a2a/a/message:send", Body: sending{id: fmt.Sprint("m", i), text: "hi"}.body()}
				if err := hubtest.Call(t.Context(), r, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	h.Kill()
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	if code, body := h.read("/readyz"); code != http.StatusOK {
		t.Errorf("readyz = %d %s", code, body)
	}
	if n := h.metric("parley_runs"); n > most {
		t.Errorf("when the hub is ready, %d tasks have runs, want at most %d", n, most)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for h.metric(`parley_queue_depth{state="waiting",target_agent="a"}`) < tasks || h.metric("parley_runs") > 0 {
		if err := pause(ctx, nil); err != nil {
			t.Fatalf("%d of %d tasks wait for a worker, and %d have runs: %v",
				h.metric(`parley_queue_depth{state="waiting",target_agent="a"}`), tasks, h.metric("parley_runs"), err)
		}
	}
	if n := h.metric("go_goroutines"); n > idle+most {
		t.Errorf("%d goroutines for %d waiting tasks, and %d without them", n, tasks, idle)
	}
}
