package engine

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/task"
)

// await queues a ticket of a task; a serial one if context is not empty.
func (q *scheduler) await(k task.Key, context string) {
	s := ticket{at: position{task: k, at: task.Millis(k), later: true}}
	if context != "" {
		s.key = queueKey{owner: "o", agent: "a", context: context}
	}
	q.wait(s)
}

func TestBlockages(t *testing.T) {
	t.Parallel()
	e := &Engine{scheduler: newScheduler(1, 1), live: newTaskRegistry()}
	e.Pause("paused")
	e.pauses.park(ticket{at: position{task: 1}}, "paused")
	if !e.scheduler.tryAcquire(queueKey{owner: "o", agent: "a", context: "busy"}) {
		t.Fatal("the first run does not begin")
	}
	for k, context := range []string{2: "busy", 3: "busy", 4: "free", 5: ""} {
		if k > 1 {
			e.scheduler.await(task.Key(k), context)
		}
	}
	want := map[task.Key]Blockage{
		1: {By: BlockedByPause}, 2: {By: BlockedByContext, Ahead: 1}, 3: {By: BlockedByContext, Ahead: 2}, 4: {By: BlockedByLimit}, 5: {By: BlockedByLimit},
	}
	if diff := cmp.Diff(want, e.Blockages(1, 2, 3, 4, 5, 6)); diff != "" {
		t.Errorf("Blockages (-want +got):\n%s", diff)
	}
	for k := range task.Key(7) {
		if got := e.Blockages(k)[k]; got != want[k] {
			t.Errorf("Blockages(%d) = %+v, want %+v", k, got, want[k])
		}
	}
}

// BenchmarkBlockages asks about the 100 tasks of a page while 10,000 wait.
func BenchmarkBlockages(b *testing.B) {
	e := &Engine{scheduler: newScheduler(0, 0), live: newTaskRegistry()}
	var page []task.Key
	for k := range task.Key(10_000) {
		context := ""
		if k%2 == 0 {
			context = strconv.Itoa(int(k) / 10)
		}
		e.scheduler.await(k+1, context)
		if k%100 == 0 {
			page = append(page, k+1)
		}
	}
	b.Run("together", func(b *testing.B) {
		for b.Loop() {
			if n := len(e.Blockages(page...)); n != len(page) {
				b.Fatalf("%d tasks wait, want %d", n, len(page))
			}
		}
	})
	b.Run("one by one", func(b *testing.B) {
		for b.Loop() {
			for _, k := range page {
				if len(e.Blockages(k)) != 1 {
					b.Fatalf("task %d does not wait", k)
				}
			}
		}
	})
}
