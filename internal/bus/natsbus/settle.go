package natsbus

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/parley-a2a/parley/internal/bus"
)

// position identifies an envelope of a queue, whatever happens to the stream: a stream that is
// created again may use the same sequence for another envelope.
type position struct {
	seq    uint64 // in the stream
	stored int64  // when, in nanoseconds of the server's clock
}

// item is one delivery of a queue.
type item struct {
	r      *receiver
	m      *nats.Msg
	at     position
	number int       // of this delivery
	due    time.Time // when the lease ends; guarded by r.mu
	done   bool      // settled; guarded by r.mu
}

// open returns the delivery to yield; nil if the envelope goes to Dead, or back to the queue.
func (it *item) open(ctx context.Context) *bus.Delivery {
	dead := it.r.at == bus.Dead
	e, err := bus.Decode(it.m.Data)
	var reason string
	switch {
	case dead:
		e = bus.ReadDead(it.m.Data)
	case err != nil:
		reason = err.Error()
	case it.number > bus.MaxDeliveries:
		reason = bus.TooOften(it.r.at)
	}
	if reason != "" {
		if err := it.deadLetter(ctx, reason); err != nil {
			it.r.b.log.Error("bus: dead envelope stays in its queue", "queue", it.r.at.Name, "reason", reason, "error", err)
			it.r.b.requeue(it.m, lastPause)
		}
		return nil
	}
	if !it.r.hold(it) {
		it.r.b.requeue(it.m, 0)
		return nil
	}
	return &bus.Delivery{Envelope: e, At: it.r.at, Number: it.number, Settle: it.settle}
}

// settle implements Delivery.Settle.
func (it *item) settle(ctx context.Context, s bus.Settlement) error {
	if it.over(s.Disposition) {
		return nil
	}
	dead := it.r.at == bus.Dead
	var err error
	switch {
	case s.Disposition == bus.Acked:
		err = it.r.b.answer(ctx, it.m, "+ACK")
	case s.Disposition == bus.Extended:
		if err = it.r.b.answer(ctx, it.m, "+WPI"); err == nil {
			it.extend()
			return nil
		}
	case s.Disposition == bus.DeadLettered && !dead:
		err = it.deadLetter(ctx, s.Reason)
	case s.Disposition == bus.Refused && !dead && it.number >= bus.MaxDeliveries:
		err = it.deadLetter(ctx, bus.TooOften(it.r.at))
	case s.Disposition == bus.Refused, s.Disposition == bus.DeadLettered:
		err = it.r.b.answer(ctx, it.m, nak(s.After))
	default:
		err = fmt.Errorf("disposition %d: %w", s.Disposition, bus.ErrInvalid)
	}
	if err != nil {
		return fmt.Errorf("settle %q at %s: %w", it.m.Header.Get(jetstream.MsgIDHeader), it.r.at, err)
	}
	it.settled()
	return nil
}

// over reports whether a disposition has no effect any more. After the end of the lease only an
// acknowledgement has one, unless the envelope was delivered again.
func (it *item) over(v bus.Disposition) bool {
	it.r.mu.Lock()
	defer it.r.mu.Unlock()
	now, held := it.r.held[it.at]
	switch {
	case it.r.left, it.done:
		return true
	case held:
		return now != it
	}
	return v != bus.Acked
}

func (it *item) extend() {
	it.r.mu.Lock()
	defer it.r.mu.Unlock()
	it.due = time.Now().Add(it.r.lease)
}

// settled marks the item as settled, and wakes the loop because it may hold another one.
func (it *item) settled() {
	it.r.mu.Lock()
	defer it.r.mu.Unlock()
	it.done = true
	if it.r.held[it.at] == it {
		delete(it.r.held, it.at)
	}
	it.r.wake.Send()
}

// deadLetter publishes the envelope at Dead and then acknowledges it. If the acknowledgement
// fails, the stream drops the next try as a duplicate, for some time.
func (it *item) deadLetter(ctx context.Context, reason string) error {
	b := it.r.b
	ctx, cancel := b.bounded(ctx)
	defer cancel()
	m := nats.NewMsg(Subject(bus.Dead))
	m.Header.Set(jetstream.MsgIDHeader, fmt.Sprintf("%s/from %s %d", bus.Dead.Name, it.r.at.Name, it.at.seq))
	m.Data = bus.DeadLetter(it.m.Data, it.r.at, reason)
	if err := b.store(ctx, m); err != nil {
		return err
	}
	b.log.Warn("bus: envelope moved to the dead letters", "queue", it.r.at.Name, "reason", reason)
	return b.answer(ctx, it.m, "+ACK")
}

// answer sends the server the disposition of a delivery, once the bus is connected.
func (b *Bus) answer(ctx context.Context, m *nats.Msg, what string) error {
	ctx, cancel := b.bounded(ctx)
	defer cancel()
	return b.post(ctx, m.Reply, []byte(what))
}

// requeue returns a delivery to the queue without waiting for a connection. While
// disconnected, the end of the lease has the same effect.
func (b *Bus) requeue(m *nats.Msg, after time.Duration) {
	if err := b.nc.Publish(m.Reply, []byte(nak(after))); err != nil {
		b.log.Warn("bus: envelope is redelivered only after its lease", "error", err)
	}
}

func nak(after time.Duration) string {
	if after <= 0 {
		return "-NAK"
	}
	return fmt.Sprintf(`-NAK {"delay": %d}`, after.Nanoseconds())
}
