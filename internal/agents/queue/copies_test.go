package queue_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/task"
	"github.com/parley-a2a/parley/worker"
)

// recorder is a bus that passes on the work that its worker receives.
type recorder struct {
	bus.Bus

	work chan *bus.Envelope
}

func (r *recorder) Receive(ctx context.Context, s bus.Subscription) iter.Seq2[*bus.Delivery, error] {
	return func(yield func(*bus.Delivery, error) bool) {
		for d, err := range r.Bus.Receive(ctx, s) {
			if err == nil && s.At == protocol.JobAt("far") {
				r.work <- d.Envelope
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// TestCopiesOfWork publishes work again while its worker performs it, and once the worker has
// settled it but its executor has not returned. The worker settles all copies with the work: a
// broker without a lease would hold them as long as the worker is connected.
func TestCopiesOfWork(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"during the run": false, "after its end": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { copies(t, late) })
		})
	}
}

func copies(t *testing.T, late bool) {
	h := startHub(t, nil)
	tap := &recorder{h.bus.Peer(), make(chan *bus.Envelope, 10)}
	finish, leave := make(chan struct{}), make(chan struct{})
	runs := 0
	h.startWorker(agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		runs++
		<-finish
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
		<-leave
	}), func(w *worker.Worker) { w.Bus = tap })
	id := h.send(returnImmediately(newSend("hi"))).Head.ID
	work := <-tap.work
	synctest.Wait()
	if late {
		close(finish)
		h.wait(id, task.Completed)
		synctest.Wait()
	}
	for range 2 {
		e := *work
		e.ID = uuid.NewString()
		if err := h.bus.Publish(t.Context(), protocol.JobAt("far"), &e); err != nil {
			t.Fatal(err)
		}
		<-tap.work
	}
	synctest.Wait()
	if !late {
		if d, err := h.bus.Depth(t.Context(), protocol.JobAt("far")); err != nil || d.Held != 3 {
			t.Errorf("during the run the queue has %+v, %v, want the work and its copies held", d, err)
		}
		close(finish)
		h.wait(id, task.Completed)
		synctest.Wait()
	}
	if d, err := h.bus.Depth(t.Context(), protocol.JobAt("far")); err != nil || d.Ready+d.Held != 0 {
		t.Errorf("after the end the queue has %+v, %v, want nothing", d, err)
	}
	close(leave)
	synctest.Wait()
	if runs != 1 {
		t.Errorf("the work was executed %d times", runs)
	}
}
