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

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
	"github.com/parley-a2a/parley/worker"
)

// TestLongStream wants 1,000 chunks in order.
func TestLongStream(t *testing.T) {
	t.Parallel()
	h := startHub(t, nil)
	h.startWorker(echo, nil)
	var words []string
	for i := range 1000 {
		words = append(words, fmt.Sprint("w", i))
	}
	began := time.Now()
	a := h.send(newSend(strings.Join(words, " ")))
	t.Logf("1,000 chunks took %v", time.Since(began))
	if a.Head.State != task.Completed {
		t.Fatalf("the task is %s", describe(a))
	}
	if got := h.chunks(a.Head.ID); strings.Join(got, " ") != strings.Join(words, " ") {
		t.Errorf("chunks are missing or out of order: %d of them", len(got))
	}
}

// asker asks once, and then answers with its name and the reply.
func asker(name string) agent.Func {
	return func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, name+" asks"), nil)
			return
		}
		asked := agent.Text(ec.StoredTask.Status.Message)
		yield(status(ec, a2a.TaskStateCompleted, asked+", "+name+" hears "+agent.Text(ec.Message)), nil)
	}
}

// TestFollowUpGoesToAnyWorker stops the worker that has asked; another one continues.
func TestFollowUpGoesToAnyWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		first := h.startWorker(asker("ann"), nil)
		a := h.send(newSend("begin"))
		if got := describe(a); got != "TASK_STATE_INPUT_REQUIRED ann asks" {
			t.Fatalf("the task is %s", got)
		}
		first.end()
		if err := <-first.done; err != nil {
			t.Error(err)
		}
		h.startWorker(asker("bob"), nil)
		if got := describe(h.send(reply(a.Head.ID, "this"))); got != "TASK_STATE_COMPLETED ann asks, bob hears this" {
			t.Errorf("the task is %s", got)
		}
	})
}

// counting sends a word for each turn.
func counting(turn <-chan struct{}) agent.Func {
	return func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		words := strings.Fields(agent.Text(ec.Message))
		for i, w := range words {
			select {
			case <-turn:
			case <-ctx.Done():
				return
			}
			ev := a2a.NewArtifactUpdateEvent(ec, "answer", a2a.NewTextPart(w))
			ev.Append, ev.LastChunk = i > 0, i == len(words)-1
			if !yield(ev, nil) {
				return
			}
		}
		yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
	}
}

// TestHubRestart stops the hub in the middle of a stream; the worker continues.
func TestHubRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		turn := make(chan struct{})
		h.startWorker(counting(turn), nil)
		id := h.send(returnImmediately(newSend("a b c d e f"))).Head.ID
		for i := range 6 {
			turn <- struct{}{}
			if i%2 == 0 {
				synctest.Wait()
				h.stop()
				continue
			}
			time.Sleep(time.Duration(i) * time.Second) // no hub is running
			synctest.Wait()
			h.start()
		}
		h.wait(id, task.Completed)
		if got := strings.Join(h.chunks(id), " "); got != "a b c d e f" {
			t.Errorf("the answer is %q", got)
		}
	})
}

// TestHubRestartBeforeTheClaim: the hub republishes work that the bus has lost.
func TestHubRestartBeforeTheClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		time.Sleep(3 * time.Second)
		synctest.Wait()
		h.stop()
		h.bus.Close()
		h.bus = new(bus.Memory)
		h.start()
		h.startWorker(echo, nil)
		if got := describe(h.wait(id, task.Completed)); got != "TASK_STATE_COMPLETED hi" {
			t.Errorf("the task is %s", got)
		}
	})
}

// TestNoWorkerClaims wants a task to fail that no worker claims in time, counted from its first
// publication.
func TestNoWorkerClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, func(d *queue.Dispatcher) { d.MaxWait = time.Hour })
		began := time.Now()
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		time.Sleep(40 * time.Minute)
		synctest.Wait()
		h.restart()
		a := h.wait(id, task.Failed)
		if got := describe(a); got != `TASK_STATE_FAILED no worker of agent "far" has taken the message within 1h0m0s` || time.Since(began) != time.Hour {
			t.Errorf("after %v the task is %s", time.Since(began), got)
		}
		// A worker that comes too late gets no work.
		h.startWorker(agent.Func(func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) {
			t.Error("the task is performed although it has failed")
		}), nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if d, err := h.bus.Depth(t.Context(), protocol.JobAt("far")); err != nil || d.Ready+d.Held != 0 {
			t.Errorf("the work is still there: %+v, %v", d, err)
		}
	})
}

func TestCancelUnclaimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		a, err := h.Cancel(t.Context(), alice, &op.Cancel{ID: id})
		if err != nil || a.Head.State != task.Canceled {
			t.Fatalf("Cancel = %v", err)
		}
		h.startWorker(agent.Func(func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) {
			t.Error("the task is performed although it was canceled")
		}), nil)
		time.Sleep(time.Minute)
		synctest.Wait()
	})
}

// canceler waits until it is canceled, and gives a configured answer.
type canceler struct {
	agent.Func
	how func(ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool)
}

func (c *canceler) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { c.how(ec, yield) }
}

func TestCancelClaimed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		how  func(ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool)
		want string
		ends bool
	}{
		"confirmed": {func(ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(status(ec, a2a.TaskStateCanceled, "as you like"), nil)
		}, "TASK_STATE_CANCELED as you like", true},
		"silently": {func(*a2asrv.ExecutorContext, func(a2a.Event, error) bool) {}, "TASK_STATE_CANCELED", true},
		"refused": {func(_ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(nil, a2a.ErrTaskNotCancelable)
		}, "TASK_STATE_WORKING", false},
		"completed": {func(ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(status(ec, a2a.TaskStateCompleted, "too late"), nil)
		}, "TASK_STATE_COMPLETED too late", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := startHub(t, nil)
				h.startWorker(&canceler{counting(nil), tt.how}, nil)
				id := h.send(returnImmediately(newSend("hi"))).Head.ID
				h.wait(id, task.Working)
				began := time.Now()
				_, err := h.Cancel(t.Context(), alice, &op.Cancel{ID: id})
				if got := describe(h.get(id)); got != tt.want || (err == nil) != tt.ends {
					t.Errorf("Cancel = %v; the task is %s, want %s", err, got, tt.want)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestCancelOfADeadWorker cancels without the worker, after a while.
func TestCancelOfADeadWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		cut := &wire{Bus: h.bus.Peer()}
		h.startWorker(counting(nil), func(w *worker.Worker) { w.Bus = cut })
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		h.wait(id, task.Working)
		synctest.Wait()
		cut.down.Store(true)
		if a, err := h.Cancel(t.Context(), alice, &op.Cancel{ID: id}); err != nil || a.Head.State != task.Canceled {
			t.Errorf("Cancel = %v", err)
		}
		cut.down.Store(false)
		time.Sleep(time.Minute) // the worker is stopped meanwhile
		synctest.Wait()
		if d, err := h.bus.Depth(t.Context(), protocol.JobAt("far")); err != nil || d.Ready+d.Held != 0 {
			t.Errorf("the worker still holds the work: %+v, %v", d, err)
		}
	})
}
