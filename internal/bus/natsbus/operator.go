package natsbus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/parley-a2a/parley/internal/bus"
)

// Depth implements bus.Operator.
func (b *Bus) Depth(ctx context.Context, queue bus.Address) (bus.Depth, error) {
	d, err := b.depth(ctx, queue)
	if err != nil {
		return bus.Depth{}, fmt.Errorf("depth of %s: %w", queue, b.requested(err))
	}
	return d, nil
}

func (b *Bus) depth(ctx context.Context, queue bus.Address) (bus.Depth, error) {
	ctx, cancel, err := b.operate(ctx, queue)
	if err != nil {
		return bus.Depth{}, err
	}
	defer cancel()
	n, err := b.stored(ctx, queue)
	if err != nil {
		return bus.Depth{}, err
	}
	c, err := b.js.Consumer(ctx, b.options.Stream, ConsumerName(queue))
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return bus.Depth{Ready: n}, nil
	}
	if err != nil {
		return bus.Depth{}, err
	}
	// A killed server may have restored acknowledged messages: NATS 2.9 does, and delivers them
	// to no receiver. So only the messages pending for the consumer count as ready.
	info := c.CachedInfo()
	ready := min(int64(info.NumPending), n) //nolint:gosec // a count
	return bus.Depth{Ready: ready, Held: min(int64(info.NumAckPending), n-ready), Receivers: info.NumWaiting}, nil
}

// requested adds bus.ErrUnavailable to the error of a request if the bus is not connected.
func (b *Bus) requested(err error) error {
	if up, _ := b.link.state(); up != nil || b.ctx.Err() != nil || errors.Is(err, bus.ErrInvalid) {
		return err
	}
	return fmt.Errorf("%w: %w", bus.ErrUnavailable, err)
}

// operate checks the arguments and the stream, and returns a bounded context for requests about
// a queue.
func (b *Bus) operate(ctx context.Context, queue bus.Address) (context.Context, context.CancelFunc, error) {
	if queue.Kind == bus.TopicKind {
		return nil, nil, fmt.Errorf("a topic is not a queue: %w", bus.ErrInvalid)
	}
	if err := b.check(ctx, queue); err != nil {
		return nil, nil, err
	}
	ctx, cancel := b.bounded(ctx)
	if err := b.declare(ctx); err != nil {
		cancel()
		return nil, nil, err
	}
	return ctx, cancel, nil
}

// stored returns the number of envelopes of a queue in the stream.
func (b *Bus) stored(ctx context.Context, queue bus.Address) (int64, error) {
	s, err := b.js.Stream(ctx, b.options.Stream)
	if err != nil {
		return 0, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(Subject(queue)))
	if err != nil {
		return 0, err
	}
	return int64(info.State.Subjects[Subject(queue)]), nil //nolint:gosec // a count
}

// Purge implements bus.Operator. It drops held envelopes as well.
func (b *Bus) Purge(ctx context.Context, queue bus.Address) (int64, error) {
	n, err := b.purge(ctx, queue)
	if err != nil {
		return 0, fmt.Errorf("purge %s: %w", queue, b.requested(err))
	}
	return n, nil
}

func (b *Bus) purge(ctx context.Context, queue bus.Address) (int64, error) {
	ctx, cancel, err := b.operate(ctx, queue)
	if err != nil {
		return 0, err
	}
	defer cancel()
	n, err := b.stored(ctx, queue)
	if err != nil {
		return 0, err
	}
	s, err := b.js.Stream(ctx, b.options.Stream)
	if err != nil {
		return 0, err
	}
	return n, s.Purge(ctx, jetstream.WithPurgeSubject(Subject(queue)))
}
