package queue_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/task"
	"github.com/parley-a2a/parley/worker"
)

// TestNATS runs each feature once over a real broker.
func TestNATS(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, natstest.Debian(t))
	var open []bus.Bus
	t.Cleanup(func() {
		for _, b := range open {
			b.Close()
		}
	})
	h := &hub{t: t, store: new(memstore.Store)}
	h.peer = func() bus.Bus {
		b, err := natsbus.Open(t.Context(), natsbus.Options{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, b)
		return b
	}
	h.start()
	t.Cleanup(func() { h.stop() })
	early := h.send(returnImmediately(newSend("early bird"))).Head.ID
	h.restart()
	first := h.startWorker(echo, func(w *worker.Worker) { w.Concurrency = 64 })
	h.wait(early, task.Completed)
	var words []string
	for i := range 1000 {
		words = append(words, fmt.Sprint("w", i))
	}
	began := time.Now()
	long := h.send(newSend(strings.Join(words, " ")))
	t.Logf("1,000 chunks took %v", time.Since(began))
	if got := h.chunks(long.Head.ID); strings.Join(got, " ") != strings.Join(words, " ") {
		t.Errorf("chunks are missing or out of order: %d of them", len(got))
	}
	began = time.Now()
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 10 {
				if a, err := h.Send(t.Context(), alice, newSend("a")); err != nil || a.Head.State != task.Completed {
					t.Errorf("Send = %v", err)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("320 tasks, 32 at a time, took %v", time.Since(began))
	first.end()
	<-first.done
	second := h.startWorker(asker("ann"), nil)
	asked := h.send(newSend("begin"))
	second.end()
	<-second.done
	h.startWorker(asker("bob"), nil)
	if got := describe(h.send(reply(asked.Head.ID, "this"))); got != "TASK_STATE_COMPLETED ann asks, bob hears this" {
		t.Errorf("the task is %s", got)
	}
}
