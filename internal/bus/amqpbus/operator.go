package amqpbus

import (
	"context"
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/internal/bus"
)

// Depth implements bus.Operator. AMQP does not report held messages: Held is 0.
func (b *Bus) Depth(ctx context.Context, queue bus.Address) (bus.Depth, error) {
	var depth bus.Depth
	err := b.operate(ctx, queue, func(s *session, _ *amqp.Channel) error {
		q, err := s.passive(queue.Name)
		depth = bus.Depth{Ready: int64(q.Messages), Receivers: q.Consumers}
		return err
	})
	if err != nil {
		return bus.Depth{}, fmt.Errorf("depth of %s: %w", queue, err)
	}
	return depth, nil
}

// Purge implements bus.Operator.
func (b *Bus) Purge(ctx context.Context, queue bus.Address) (int64, error) {
	var dropped int
	err := b.operate(ctx, queue, func(_ *session, ch *amqp.Channel) error {
		var err error
		dropped, err = ch.QueuePurge(queue.Name, false)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("purge %s: %w", queue, err)
	}
	return int64(dropped), nil
}

// operate runs f, again if the connection is lost. A missing queue is no error.
func (b *Bus) operate(ctx context.Context, queue bus.Address, f func(*session, *amqp.Channel) error) error {
	if err := b.check(queue); err != nil {
		return err
	}
	if queue.Kind != bus.QueueKind {
		return fmt.Errorf("not a queue: %w", bus.ErrInvalid)
	}
	ctx, cancel := b.withTimeout(ctx)
	defer cancel()
	for {
		s, err := b.in.session(ctx)
		if err != nil {
			return err
		}
		err = s.call(ctx, func(ch *amqp.Channel) error {
			defer ch.Close()
			return f(s, ch)
		})
		var e *amqp.Error
		switch {
		case err == nil, errors.As(err, &e) && e.Code == amqp.NotFound:
			return nil
		case !errors.Is(unavailable(err), errLost):
			return unavailable(err)
		}
	}
}
