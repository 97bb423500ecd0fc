package natsbus

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"

	"github.com/parley-a2a/parley/internal/bus"
)

// The limits of a receiver's backlog at a topic. Envelopes beyond them are lost for this
// receiver.
const (
	maxWaiting      = 4096
	maxWaitingBytes = 8 << 20
)

// receiveTopic yields the deliveries of a topic. It returns nil when the loop is left.
func (b *Bus) receiveTopic(ctx context.Context, s bus.Subscription, yield func(*bus.Delivery, error) bool) error {
	sub, err := b.listen(ctx, s)
	if err != nil {
		return err
	}
	defer b.unlisten(sub)
	for {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, nats.ErrSlowConsumer):
			continue // asyncError has logged it
		default:
			return err
		}
		e, err := bus.Decode(m.Data)
		if err != nil {
			b.log.Warn("bus: not an envelope", "at", s.At.String(), "error", err)
			if s.Unreadable != nil {
				s.Unreadable(e)
			}
			continue
		}
		if !yield(&bus.Delivery{Envelope: e, At: s.At, From: b.sender(m), Number: 1}, nil) {
			return nil
		}
	}
}

// listen subscribes, and calls s.Ready when the server has confirmed that.
func (b *Bus) listen(ctx context.Context, s bus.Subscription) (*nats.Subscription, error) {
	sub, err := b.nc.SubscribeSync(Subject(s.At))
	if err != nil {
		return nil, err
	}
	if err := sub.SetPendingLimits(maxWaiting, maxWaitingBytes); err != nil {
		return nil, err
	}
	if s.Ready == nil {
		return sub, nil
	}
	b.onReconnect(sub, s.Ready)
	if up, _ := b.link.state(); up == nil {
		return sub, nil // connected calls Ready later
	}
	ctx, cancel := b.bounded(ctx)
	defer cancel()
	if b.nc.FlushWithContext(ctx) == nil {
		s.Ready()
	}
	return sub, nil
}

// onReconnect registers ready to be called after each reconnection.
func (b *Bus) onReconnect(sub *nats.Subscription, ready func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners[sub] = ready
}

func (b *Bus) unlisten(sub *nats.Subscription) {
	b.mu.Lock()
	delete(b.listeners, sub)
	b.mu.Unlock()
	_ = sub.Unsubscribe() // fails if the bus is closed
}
