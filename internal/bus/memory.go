package bus

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
)

// DefaultMaxBytes is the MaxBytes of a Memory without one.
const DefaultMaxBytes = 256 << 20

// Memory is a bus within one process. The zero value is ready to use. It keeps envelopes as
// bytes, like every bus, so that a receiver never shares memory with a sender.
type Memory struct {
	// MaxBytes is the number of bytes that all queues together may hold; above it Publish
	// returns ErrFull. Zero means DefaultMaxBytes.
	MaxBytes int64
	// Logger gets a record when a slow receiver of a topic loses envelopes, and when an
	// envelope goes to Dead. If nil, nothing is logged.
	Logger *slog.Logger

	once   sync.Once
	broker *broker
	closed chan struct{}
	end    sync.Once
}

var (
	_ Bus        = (*Memory)(nil)
	_ Operator   = (*Memory)(nil)
	_ Durability = (*Memory)(nil)
)

// Peer returns another bus on the same queues and topics. Each is closed independently; the
// queues exist for as long as one of them does.
func (m *Memory) Peer() *Memory {
	m.begin()
	return &Memory{MaxBytes: m.MaxBytes, Logger: m.Logger, broker: m.broker}
}

// begin initialises the zero value.
func (m *Memory) begin() {
	m.once.Do(func() {
		m.closed = make(chan struct{})
		if m.broker != nil {
			return
		}
		m.broker = &broker{maxBytes: m.MaxBytes, log: m.Logger}
		if m.broker.maxBytes == 0 {
			m.broker.maxBytes = DefaultMaxBytes
		}
		if m.broker.log == nil {
			m.broker.log = slog.New(slog.DiscardHandler)
		}
	})
}

// check returns an error if at is invalid, the bus is closed or ctx has ended.
func (m *Memory) check(ctx context.Context, at Address) error {
	m.begin()
	if err := at.Check(); err != nil {
		return err
	}
	select {
	case <-m.closed:
		return ErrClosed
	default:
		return context.Cause(ctx)
	}
}

// Publish implements Bus. The error is never ErrUnknown or ErrUnavailable.
func (m *Memory) Publish(ctx context.Context, to Address, e *Envelope) error {
	if err := m.check(ctx, to); err != nil {
		return fmt.Errorf("publish %q at %s: %w", e.ID, to, err)
	}
	data, err := e.Encode()
	if err == nil {
		err = m.broker.put(to, data)
	}
	if err != nil {
		return fmt.Errorf("publish %q at %s: %w", e.ID, to, err)
	}
	return nil
}

// Receive implements Bus.
func (m *Memory) Receive(ctx context.Context, s Subscription) iter.Seq2[*Delivery, error] {
	return func(yield func(*Delivery, error) bool) {
		err := m.check(ctx, s.At)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
		case s.At.Kind == QueueKind:
			err = m.receiveQueue(ctx, s, yield)
		default:
			err = m.receiveTopic(ctx, s, yield)
		}
		if err != nil {
			yield(nil, fmt.Errorf("receive at %s: %w", s.At, err))
		}
	}
}

// receiveQueue yields the deliveries of a queue. It returns nil when the loop is left or ctx
// ends.
func (m *Memory) receiveQueue(ctx context.Context, s Subscription, yield func(*Delivery, error) bool) error {
	r := &receiver{
		prefetch: max(s.Prefetch, 1), lease: s.Lease,
		wake: wake.New(), held: map[*item]struct{}{},
	}
	if r.lease <= 0 {
		r.lease = DefaultLease
	}
	m.broker.addReceiver(s.At.Name, r)
	defer m.broker.removeReceiver(s.At.Name, r)
	if s.Ready != nil {
		s.Ready()
	}
	for {
		for d := m.broker.next(s.At, r); d != nil; d = m.broker.next(s.At, r) {
			if !yield(d, nil) {
				return nil
			}
			if err := m.check(ctx, s.At); err != nil {
				return m.ended(ctx, err)
			}
		}
		if err := m.wait(ctx, r.wake); err != nil {
			return m.ended(ctx, err)
		}
	}
}

// ended returns err, or nil if that is the end of ctx.
func (m *Memory) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// wait returns nil when wake fires, or the reason why the receiver must end.
func (m *Memory) wait(ctx context.Context, wake <-chan struct{}) error {
	select {
	case <-wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.closed:
		return ErrClosed
	}
}

// receiveTopic yields the deliveries of a topic. It returns nil when the loop is left or ctx
// ends.
func (m *Memory) receiveTopic(ctx context.Context, s Subscription, yield func(*Delivery, error) bool) error {
	l := &listener{wake: wake.New()}
	m.broker.listen(s.At.Name, l)
	defer m.broker.unlisten(s.At.Name, l)
	if s.Ready != nil {
		s.Ready()
	}
	for {
		for data := m.broker.nextWaiting(l); data != nil; data = m.broker.nextWaiting(l) {
			e, err := Decode(data)
			if err != nil {
				m.broker.log.Warn("bus: not an envelope", "at", s.At, "error", err)
				if s.Unreadable != nil {
					s.Unreadable(e)
				}
				continue
			}
			if !yield(&Delivery{Envelope: e, At: s.At, Number: 1}, nil) {
				return nil
			}
			if err := m.check(ctx, s.At); err != nil {
				return m.ended(ctx, err)
			}
		}
		if err := m.wait(ctx, l.wake); err != nil {
			return m.ended(ctx, err)
		}
	}
}

// Depth implements Operator. A refused envelope counts as held until it is ready again.
func (m *Memory) Depth(ctx context.Context, queue Address) (Depth, error) {
	if err := m.checkQueue(ctx, queue); err != nil {
		return Depth{}, fmt.Errorf("depth of %s: %w", queue, err)
	}
	return m.broker.depth(queue.Name), nil
}

// Purge implements Operator.
func (m *Memory) Purge(ctx context.Context, queue Address) (int64, error) {
	if err := m.checkQueue(ctx, queue); err != nil {
		return 0, fmt.Errorf("purge %s: %w", queue, err)
	}
	return m.broker.purge(queue.Name), nil
}

func (m *Memory) checkQueue(ctx context.Context, at Address) error {
	if at.Kind == TopicKind {
		return fmt.Errorf("%s is not a queue: %w", at, ErrInvalid)
	}
	return m.check(ctx, at)
}

// Durable implements Durability: a Memory is not durable.
func (m *Memory) Durable() bool { return false }

// Close implements Bus. Held envelopes return to their queues when the receivers leave their
// loops.
func (m *Memory) Close() error {
	m.begin()
	m.end.Do(func() { close(m.closed) })
	return nil
}

// settle returns Delivery.Settle for an item that r holds.
func (b *broker) settle(at Address, r *receiver, it *item) func(context.Context, Settlement) error {
	number := it.number
	return func(_ context.Context, s Settlement) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if _, ok := r.held[it]; !ok || it.number != number {
			return nil
		}
		q := b.queues[at.Name]
		switch s.Disposition {
		case Extended:
			it.due = time.Now().Add(r.lease)
			q.leased.fix(it)
			b.armLocked(at.Name, q)
			return nil
		case Refused:
			b.requeueLocked(at.Name, q, it, s.After)
		case DeadLettered:
			b.deadLetterLocked(at.Name, q, it, s.Reason)
		case Acked:
			b.dropLocked(q, it)
		default:
			return fmt.Errorf("settle at %s: disposition %d: %w", at, s.Disposition, ErrInvalid)
		}
		return nil
	}
}
