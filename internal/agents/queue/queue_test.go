package queue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/task"
)

// TestCallBeforeTheWorker calls an agent without workers, and starts one a minute later.
func TestCallBeforeTheWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		id := h.send(returnImmediately(newSend("hello there"))).Head.ID
		time.Sleep(time.Minute)
		synctest.Wait()
		if a := h.get(id); a.Head.State != task.Submitted {
			t.Errorf("without a worker the task is %s", describe(a))
		}
		h.startWorker(echo, nil)
		a := h.wait(id, task.Completed)
		if got := describe(a); got != "TASK_STATE_COMPLETED hello there" {
			t.Errorf("the task is %s", got)
		}
		if diff := cmp.Diff([]string{"hello", "there"}, h.chunks(id)); diff != "" {
			t.Errorf("chunks (-want +got):\n%s", diff)
		}
	})
}
