package queue_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus/embedded"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
	"github.com/parley-a2a/parley/task"
	"github.com/parley-a2a/parley/worker"
)

// purge removes n envelopes from the queue of the agent far, behind the back of the hub.
func purge(t testing.TB, b bus.Bus, n int64) {
	t.Helper()
	o := b.(bus.Operator)
	if got, err := o.Purge(t.Context(), protocol.JobAt("far")); err != nil || got != n {
		t.Fatalf("Purge = %d, %v, want %d", got, err, n)
	}
}

// durableQueues says that its queues are durable.
type durableQueues struct{ *readyBus }

func (durableQueues) Durable() bool { return true }

// TestLostWorkIsPublishedAgain: the broker has lost the work of waiting tasks, shortly after it
// was published, much later, or while the hub was away. A worker has it within a minute.
func TestLostWorkIsPublishedAgain(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]struct {
		after time.Duration
		away  bool
	}{
		"at once":               {},
		"late":                  {after: time.Hour},
		"while the hub is away": {after: time.Hour, away: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := startHub(t, func(d *queue.Dispatcher) { d.Bus = durableQueues{d.Bus.(*readyBus)} })
			var ids []a2a.TaskID
			for _, text := range []string{"a", "b", "c"} {
				ids = append(ids, h.send(returnImmediately(newSend(text))).Head.ID)
			}
			synctest.Wait()
			time.Sleep(lost.after)
			synctest.Wait()
			if lost.away {
				h.stop()
			}
			purge(t, h.peer(), 3)
			if lost.away {
				h.start()
			}
			began := time.Now()
			h.startWorker(echo, nil)
			for _, id := range ids {
				h.wait(id, task.Completed)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("lost %s: they were complete after %v", name, took)
			}
		})
	}
}

// TestWaitingWorkIsPublishedOnce: work that waits long, or that a worker has, is not published
// again.
func TestWaitingWorkIsPublishedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		blocked := agent.Func(func(ctx context.Context, _ *a2asrv.ExecutorContext, _ func(a2a.Event, error) bool) { <-ctx.Done() })
		h.startWorker(blocked, func(w *worker.Worker) { w.Concurrency = 1 })
		for _, text := range []string{"a", "b", "c"} {
			h.send(returnImmediately(newSend(text)))
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		d, err := h.peer().(bus.Operator).Depth(t.Context(), protocol.JobAt("far"))
		if err != nil || d.Ready != 2 || d.Held != 1 {
			t.Errorf("in the queue are %+v, %v, want 2 and 1", d, err)
		}
	})
}

// emptyQueues reports all queues as empty.
type emptyQueues struct{ bus.Bus }

// Depth implements bus.Operator.
func (emptyQueues) Depth(context.Context, bus.Address) (bus.Depth, error) { return bus.Depth{}, nil }

// Purge implements bus.Operator.
func (emptyQueues) Purge(context.Context, bus.Address) (int64, error) { return 0, nil }

// TestWorkThatAppearsAgain: the hub has taken work for lost that is in its queue after all. The
// agent performs each task once.
func TestWorkThatAppearsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, func(d *queue.Dispatcher) { d.Bus = emptyQueues{d.Bus} })
		var ids []a2a.TaskID
		for _, text := range []string{"a", "b", "c"} {
			ids = append(ids, h.send(returnImmediately(newSend(text))).Head.ID)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		d, err := h.peer().(bus.Operator).Depth(t.Context(), protocol.JobAt("far"))
		if err != nil || d.Ready < 3*2 || d.Ready > 3*8 {
			t.Fatalf("in the queue are %+v, %v, want some copies", d, err)
		}
		var performed atomic.Int32
		h.startWorker(agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			performed.Add(1)
			yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
		}), nil)
		for _, id := range ids {
			h.wait(id, task.Completed)
		}
		time.Sleep(time.Minute) // all copies are claimed
		synctest.Wait()
		if n := performed.Load(); n != 3 {
			t.Errorf("3 tasks were performed %d times", n)
		}
		if d, err := h.peer().(bus.Operator).Depth(t.Context(), protocol.JobAt("far")); err != nil || d.Ready+d.Held != 0 {
			t.Errorf("in the queue are %+v, %v, want none", d, err)
		}
	})
}

// TestLostWorkAtABroker removes work from real brokers.
func TestLostWorkAtABroker(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		s, err := embedded.Start(embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		testLostWork(t, func() (bus.Bus, error) { return s.Open(t.Context(), natsbus.Options{}) })
	})
	t.Run("RabbitMQ", func(t *testing.T) {
		t.Parallel()
		url := rabbittest.Shared(t).VHost(t)
		testLostWork(t, func() (bus.Bus, error) { return &amqpbus.Bus{URL: url, Logger: logger(t)}, nil })
	})
}

// notingBus signals each work that the broker has confirmed.
type notingBus struct {
	*readyBus
	published chan struct{}
}

func (n notingBus) Publish(ctx context.Context, to bus.Address, e *bus.Envelope) error {
	err := n.readyBus.Publish(ctx, to, e)
	if err == nil && to == protocol.JobAt("far") {
		n.published <- struct{}{}
	}
	return err
}

func testLostWork(t *testing.T, open func() (bus.Bus, error)) {
	t.Helper()
	published := make(chan struct{}, 100)
	h := &hub{t: t, store: new(memstore.Store), alter: func(d *queue.Dispatcher) {
		d.Bus, d.Reconcile = notingBus{d.Bus.(*readyBus), published}, 100*time.Millisecond
	}}
	h.peer = func() bus.Bus {
		b, err := open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		return b
	}
	h.start()
	t.Cleanup(func() { h.stop() })
	id := h.send(returnImmediately(newSend("lost"))).Head.ID
	<-published
	purge(t, h.peer(), 1)
	<-published
	h.startWorker(echo, nil)
	h.wait(id, task.Completed)
}
