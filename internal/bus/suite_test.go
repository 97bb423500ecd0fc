package bus_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/testing/suite/bustest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	bustest.Run(t, bustest.Features{Leases: true}, func(*testing.T) *bustest.Broker {
		m := &bus.Memory{MaxBytes: 32 << 20}
		return &bustest.Broker{
			Open:   func(*testing.T) bus.Bus { return m.Peer() },
			Poison: poison(m),
			Fill:   fill(m),
		}
	})
}

func poison(m *bus.Memory) func(*testing.T, bus.Address, []byte) {
	return func(t *testing.T, at bus.Address, data []byte) {
		t.Helper()
		if err := m.Inject(at, data); err != nil {
			t.Fatal(err)
		}
	}
}

// fill fills the bus through a queue that no test uses.
func fill(m *bus.Memory) func(*testing.T) func() {
	return func(t *testing.T) func() {
		t.Helper()
		filler := bus.Queue("filler")
		e := letter("filler")
		e.Source += strings.Repeat("x", 100<<10)
		for err := error(nil); !errors.Is(err, bus.ErrFull); {
			if err = m.Publish(t.Context(), filler, e); err != nil && !errors.Is(err, bus.ErrFull) {
				t.Fatal(err)
			}
		}
		return func() {
			if _, err := m.Purge(t.Context(), filler); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// broken is a bus that behaves like Memory, except for its defect.
type broken struct {
	*bus.Memory
	out     *outage
	publish func(ctx context.Context, to bus.Address, e *bus.Envelope) error
	receive func(ctx context.Context, s bus.Subscription) iter.Seq2[*bus.Delivery, error]
	close   func() error
}

func (b *broken) Publish(ctx context.Context, to bus.Address, e *bus.Envelope) error {
	return b.publish(ctx, to, e)
}

func (b *broken) Receive(ctx context.Context, s bus.Subscription) iter.Seq2[*bus.Delivery, error] {
	return b.receive(ctx, s)
}

func (b *broken) Close() error { return b.close() }

// sound returns a bus on m without a defect.
func sound(m *bus.Memory, out *outage) *broken {
	b := &broken{Memory: m.Peer(), out: out}
	b.publish = func(ctx context.Context, to bus.Address, e *bus.Envelope) error {
		if err := b.Check(to, e); err == nil {
			if err := out.over(ctx); err != nil {
				return err
			}
		}
		return b.Memory.Publish(ctx, to, e)
	}
	b.receive = func(ctx context.Context, s bus.Subscription) iter.Seq2[*bus.Delivery, error] {
		out.notify(s.Ready)
		return b.Memory.Receive(ctx, s)
	}
	b.close = b.Memory.Close
	return b
}

// Check returns the error with which Publish fails before it asks the broker.
func (b *broken) Check(to bus.Address, e *bus.Envelope) error {
	_, err := e.Encode()
	return errors.Join(err, to.Check())
}

// outage is a broker that can be unreachable: nothing can be published then, but nothing is
// lost.
type outage struct {
	mu    sync.Mutex
	back  chan struct{} // nil while the broker is reachable
	ready []func()
}

func (o *outage) stop(*testing.T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.back = make(chan struct{})
}

func (o *outage) start(*testing.T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.back)
	o.back = nil
	for _, f := range o.ready {
		f()
	}
}

func (o *outage) notify(ready func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ready != nil {
		o.ready = append(o.ready, ready)
	}
}

// over waits until the broker is reachable.
func (o *outage) over(ctx context.Context) error {
	o.mu.Lock()
	back := o.back
	o.mu.Unlock()
	if back == nil {
		return nil
	}
	select {
	case <-back:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", context.Cause(ctx), bus.ErrUnavailable)
	}
}

// bench returns a broker of buses with a defect.
func bench(d defect) func(*testing.T) *bustest.Broker {
	return func(*testing.T) *bustest.Broker {
		m, out := &bus.Memory{MaxBytes: 32 << 20}, new(outage)
		b := &bustest.Broker{Poison: poison(m), Fill: fill(m), Stop: out.stop, Start: out.start}
		b.Open = func(*testing.T) bus.Bus {
			one := sound(m, out)
			if d.bus != nil {
				d.bus(one)
			}
			if d.operator != nil {
				return d.operator(one)
			}
			return one
		}
		if d.broker != nil {
			d.broker(b)
		}
		return b
	}
}
