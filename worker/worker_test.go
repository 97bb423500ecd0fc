package worker_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/worker"
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
	for _, at := range []string{protocol.JobAt("x").Name, protocol.Inquiry.Name} {
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

// TestNewerWorkReplacesAClaim delivers newer work of a task while the worker claims the older
// one, which no hub answers any more. The worker settles the older delivery at once.
func TestNewerWorkReplacesAClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Memory)
		idle := agent.Func(func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) {})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- (&worker.Worker{Bus: b.Peer(), Name: "x", Executor: idle}).Run(ctx) }()
		for n := range 2 {
			body, err := protocol.Encode(&protocol.Work{Agent: "x", Delivery: int64(n + 1), Reports: protocol.ReportAt("h").Name})
			if err != nil {
				t.Fatal(err)
			}
			e := &bus.Envelope{ID: string(rune('a' + n)), Type: protocol.TypeWork, Source: "hub/h", ReplyTo: protocol.ControlAt("h").Name, Task: "t", Body: body}
			if err := b.Publish(ctx, protocol.JobAt("x"), e); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if d, err := b.Depth(ctx, protocol.JobAt("x")); err != nil || d.Held != 1 || d.Ready != 0 {
				t.Errorf("after delivery %d the queue has %+v, %v, want the newest work held", n+1, d, err)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// late is a bus on which the messages for workers are received late.
type late struct{ bus.Bus }

func (l late) Receive(ctx context.Context, sub bus.Subscription) iter.Seq2[*bus.Delivery, error] {
	return func(yield func(*bus.Delivery, error) bool) {
		if strings.HasPrefix(sub.At.Name, "worker.") {
			time.Sleep(time.Second)
		}
		l.Bus.Receive(ctx, sub)(yield)
	}
}

// TestAnnouncedOnceItListens: a hub answers the first announcement of a worker that it gives no tasks, and no
// later one. So the worker listens before it announces itself, also when a hub asks.
func TestAnnouncedOnceItListens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Memory)
		var log strings.Builder
		idle := agent.Func(func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) {})
		w := &worker.Worker{Bus: late{b.Peer()}, Name: "x", Executor: idle, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		send := func(to bus.Address, typ bus.Type, body any) {
			text, err := protocol.Encode(body)
			if err == nil {
				err = b.Publish(ctx, to, &bus.Envelope{ID: string(typ), Type: typ, Source: "hub/h", Body: text})
			}
			if err != nil {
				t.Error(err)
			}
		}
		all.Go(func() {
			for d := range b.Receive(ctx, bus.Subscription{At: protocol.Discovery}) {
				var a protocol.Announce
				if err := protocol.Decode(d.Body, &a); err != nil || d.Type != protocol.TypeAnnounce {
					t.Errorf("%s: %v", d.Type, err)
				}
				send(protocol.WorkerAt(a.Worker), protocol.TypeDeny, &protocol.Deny{Reason: "it has another agent"})
				return
			}
		})
		synctest.Wait()
		all.Go(func() {
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		send(protocol.Inquiry, protocol.TypeHub, &protocol.Hub{})
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		all.Wait()
		if !strings.Contains(log.String(), "it has another agent") {
			t.Errorf("the worker does not learn that it gets no tasks: %s", log.String())
		}
	})
}
