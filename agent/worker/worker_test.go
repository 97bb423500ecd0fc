package worker_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/worker"
	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/protocol"
)

// cut is a bus on which receiving from one address fails.
type cut struct {
	bus.Bus

	at  string
	err error
}

func (c *cut) Receive(ctx context.Context, sub bus.Subscription) iter.Seq2[*bus.Delivery, error] {
	if sub.At.Name == c.at {
		return func(yield func(*bus.Delivery, error) bool) { yield(nil, c.err) }
	}
	return c.Bus.Receive(ctx, sub)
}

// TestRunEndsWithItsQueue checks that a worker ends with the error of its queue, or of the
// topic of inquiries, although the rest of the bus works.
func TestRunEndsWithItsQueue(t *testing.T) {
	t.Parallel()
	idle := agent.Func(func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) {})
	for _, at := range []string{protocol.WorkAt("x").Name, protocol.Inquiry.Name} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := &cut{new(bus.Memory), at, errors.New("no such queue")}
				w := &worker.Worker{Bus: b, Name: "x", Executor: idle}
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				if err := w.Run(ctx); !errors.Is(err, b.err) || ctx.Err() != nil {
					t.Errorf("Run = %v (%v), want %v at once", err, ctx.Err(), b.err)
				}
			})
		})
	}
}
