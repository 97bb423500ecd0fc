package amqpbus

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/internal/bus"
)

// held is a message that the broker has delivered.
type held struct {
	consumer *consumer
	d        *amqp.Delivery
	number   int
	settled  atomic.Bool
}

// settle implements Delivery.Settle.
func (h *held) settle(ctx context.Context, s bus.Settlement) error {
	if s.Disposition == bus.Extended || h.consumer.closed.Load() || !h.settled.CompareAndSwap(false, true) {
		return nil // the broker waits as long as the connection exists
	}
	if err := h.apply(ctx, s); err != nil {
		return fmt.Errorf("settle %q at %s: %w", h.d.MessageId, h.consumer.at, err)
	}
	return nil
}

func (h *held) apply(ctx context.Context, s bus.Settlement) error {
	last := h.number >= bus.MaxDeliveries && h.consumer.at != bus.Dead
	switch {
	case s.Disposition == bus.Acked:
		return h.brokerError(h.d.Ack(false))
	case s.Disposition == bus.Refused && last:
		return h.deadLetter(ctx, bus.TooOften(h.consumer.at))
	case s.Disposition == bus.Refused && s.After > 0:
		if h.republish(ctx, s.After, h.number) == nil {
			return nil
		}
		fallthrough // too early is better than never
	case s.Disposition == bus.Refused:
		return h.brokerError(h.d.Nack(false, true))
	case s.Disposition == bus.DeadLettered && h.consumer.at == bus.Dead:
		return h.brokerError(h.d.Nack(false, true)) // a dead letter stays at Dead
	case s.Disposition == bus.DeadLettered:
		return h.deadLetter(ctx, s.Reason)
	}
	return fmt.Errorf("disposition %d: %w", s.Disposition, bus.ErrInvalid)
}

// deadLetter moves the message to Dead with a reason. If it cannot be published there, the broker
// moves it without one.
func (h *held) deadLetter(ctx context.Context, reason string) error {
	at := h.consumer.at
	h.consumer.bus.log().Warn("envelope is dead", "at", at.String(), "id", h.d.MessageId, "reason", reason)
	m := &message{to: bus.Dead, properties: h.properties()}
	m.properties.Body = bus.DeadLetter(h.d.Body, at, reason)
	if h.replace(ctx, m) == nil {
		return nil
	}
	return h.brokerError(h.d.Reject(false))
}

// republish republishes a held message, now or after a delay, and removes the original.
func (h *held) republish(ctx context.Context, after time.Duration, delivered int) error {
	m := &message{to: h.consumer.at, properties: h.properties()}
	m.properties.Headers = amqp.Table{deliveriesHeader: int64(delivered)}
	if after > 0 {
		m.delay = delayFor(after)
		m.exchange = delayName(m.delay)
	}
	return h.replace(ctx, m)
}

// properties returns the properties of the message, without those that the broker has added.
func (h *held) properties() amqp.Publishing {
	d := h.d
	return amqp.Publishing{
		ContentType: d.ContentType, DeliveryMode: amqp.Persistent, Body: d.Body,
		MessageId: d.MessageId, Type: d.Type, CorrelationId: d.CorrelationId, AppId: d.AppId,
	}
}

// replace publishes m in place of the message. If the process ends in between, both exist.
func (h *held) replace(ctx context.Context, m *message) error {
	if err := h.consumer.bus.send(ctx, m); err != nil {
		return err
	}
	return h.brokerError(h.d.Ack(false))
}

// brokerError converts an error of the connection to one of the bus; the message is then
// redelivered. It returns nil for a cancelled subscription.
func (h *held) brokerError(err error) error {
	if err == nil || h.consumer.closed.Load() {
		return nil
	}
	return fmt.Errorf("it will be redelivered: %w: %w", bus.ErrUnavailable, err)
}
