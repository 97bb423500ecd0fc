package queue_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/operator"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// sendMany sends messages that no worker takes, and returns their tasks.
func sendMany(h *hub, n int) []a2a.TaskID {
	h.t.Helper()
	ids := make([]a2a.TaskID, n)
	for i := range ids {
		ids[i] = h.send(returnImmediately(newSend(fmt.Sprint(i)))).Head.ID
	}
	return ids
}

func (h *hub) wantRuns(n int) {
	h.t.Helper()
	if got := h.Stats().Runs; got != n {
		h.t.Errorf("%d runs, want %d", got, n)
	}
}

// TestWaitingTasksRest: tasks that wait for a worker have no runs, also after a restart of the
// hub, at durable queues and at others. A worker gets each of them once.
func TestWaitingTasksRest(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := startHub(t, func(d *queue.Dispatcher) {
				if durable {
					d.Bus = durableQueues{d.Bus.(*readyBus)}
				}
			})
			ids := sendMany(h, 600)
			time.Sleep(5 * time.Second)
			synctest.Wait()
			h.wantRuns(0)
			h.restart()
			time.Sleep(5 * time.Second)
			synctest.Wait()
			h.wantRuns(0)
			w := h.startWorker(echo, nil)
			for _, id := range ids {
				h.wait(id, task.Completed)
			}
			w.end()
			<-w.done
			for i, id := range ids {
				if got := h.chunks(id); strings.Join(got, " ") != fmt.Sprint(i) {
					t.Errorf("task %d has the answer %q", i, got)
				}
			}
		})
	}
}

// TestLimitOfRestingTasks: a task fails at the end of MaxWait, and no earlier.
func TestLimitOfRestingTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		began := time.Now()
		id := sendMany(h, 1)[0]
		time.Sleep(protocol.MaxWait/2 + 7*time.Second) // the limit is between two comparisons
		synctest.Wait()
		h.restart()
		synctest.Wait()
		h.wantRuns(0)
		h.wait(id, task.Failed)
		if took := time.Since(began); took < protocol.MaxWait || took > protocol.MaxWait+time.Second {
			t.Errorf("it failed after %v, want %v", took, protocol.MaxWait)
		}
	})
}

// TestLimitWithoutAgent: the agent of a resting task is removed. Its task fails nevertheless.
func TestLimitWithoutAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		id := sendMany(h, 1)[0]
		time.Sleep(time.Minute)
		synctest.Wait()
		h.wantRuns(0)
		if err := h.Unregister("far"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(protocol.MaxWait + time.Minute)
		synctest.Wait()
		a, err := h.store.Head(t.Context(), alice.Principal.Owner(), id)
		if err != nil || a.State != task.Failed {
			t.Errorf("the task is %v, %v, want failed", a.State, err)
		}
	})
}

// TestOperationsOnWaitingTasks cancels and redrives tasks that rest. A claim of the canceled one
// is denied, and only the second work of the other one counts.
func TestOperationsOnWaitingTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		ids := sendMany(h, 1)
		synctest.Wait()
		ids = append(ids, h.send(returnImmediately(newSend("more"))).Head.ID)
		time.Sleep(time.Minute)
		synctest.Wait()
		h.wantRuns(0)
		if a, err := h.Cancel(t.Context(), alice, &op.Cancel{ID: ids[0]}); err != nil || a.Head.State != task.Canceled {
			t.Fatalf("Cancel = %+v, %v", a, err)
		}
		if _, err := h.Redrive(t.Context(), engine.Target{Owner: alice.Principal.Owner(), ID: ids[1]}); err != nil {
			t.Fatal(err)
		}
		p := h.startManualWorker()
		p.take().denied("the task has ended")
		p.take().denied("it was given to another worker")
		synctest.Wait()
		j := p.take().granted(false)
		if a2a.TaskID(j.d.Task) != ids[1] {
			t.Errorf("granted is %s, want %s", j.d.Task, ids[1])
		}
		j.report(1, completed)
		h.wait(ids[1], task.Completed)
	})
}

// near is an agent in the hub that completes its tasks.
type near struct{}

func (near) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil), nil)
	}
}

func (near) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}

// TestBacklogAfterOperations: tasks that an operator has moved away or failed do not count as waiting.
func TestBacklogAfterOperations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		if err := h.Register(engine.Agent{Name: "near", Card: &a2a.AgentCard{Name: "near"}, Executor: near{}}); err != nil {
			t.Fatal(err)
		}
		control := &operator.Operator{Engine: h.Engine, Tasks: h.store.(task.Finder), Changed: h.dispatcher.Forget}
		ids := sendMany(h, 2)
		time.Sleep(time.Second)
		synctest.Wait()
		last := sendMany(h, 1)[0]
		time.Sleep(time.Second)
		synctest.Wait()
		h.wantRuns(0)
		began := h.dispatcher.Backlogs()["far"].Oldest
		if _, err := control.Reassign(t.Context(), operator.Target{ID: ids[0]}, "near"); err != nil {
			t.Fatal(err)
		}
		if _, err := control.Fail(t.Context(), operator.Target{ID: ids[1]}, "enough"); err != nil {
			t.Fatal(err)
		}
		h.wait(ids[0], task.Completed)
		if b := h.dispatcher.Backlogs()["far"]; b.Waiting != 1 || !b.Oldest.After(began) {
			t.Errorf("the backlog is %+v, want one that waits since after %v", b, began)
		}
		if _, err := h.Cancel(t.Context(), alice, &op.Cancel{ID: last}); err != nil {
			t.Fatal(err)
		}
		if b := h.dispatcher.Backlogs()["far"]; b.Waiting != 0 {
			t.Errorf("the backlog after a cancellation is %+v", b)
		}
	})
}

// TestClaimsOfRestingTasks: a worker whose claim is denied leaves the task at rest; the right
// claim continues it at once.
func TestClaimsOfRestingTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		id := sendMany(h, 1)[0]
		time.Sleep(time.Minute)
		synctest.Wait()
		j := h.startManualWorker().take()
		j.work.Delivery++
		j.denied("it was given to another worker")
		synctest.Wait()
		h.wantRuns(0)
		d, err := h.peer().(bus.Operator).Depth(t.Context(), protocol.JobAt("far"))
		if err != nil || d.Ready+d.Held != 1 {
			t.Errorf("in the queue are %+v, %v, want the one work", d, err)
		}
		j.work.Delivery--
		began := time.Now()
		j.granted(false).report(1, completed)
		h.wait(id, task.Completed)
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
	})
}

var _ queue.Runs = (*engine.Engine)(nil)
