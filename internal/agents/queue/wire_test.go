package queue_test

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/parley-a2a/parley/internal/bus"
)

// wire is the connection of one process to a bus. While it is down, nothing passes in either
// direction.
type wire struct {
	bus.Bus
	down atomic.Bool
	// twice publishes everything twice.
	twice bool
	// drop loses every envelope for which it returns true, in either direction; nil loses none.
	drop func(*bus.Envelope) bool
}

func (w *wire) lost(e *bus.Envelope) bool { return w.down.Load() || w.drop != nil && w.drop(e) }

func (w *wire) Publish(ctx context.Context, to bus.Address, e *bus.Envelope) error {
	if w.lost(e) {
		if to.Kind == bus.TopicKind {
			return nil
		}
		return bus.ErrUnavailable
	}
	if w.twice {
		if err := w.Bus.Publish(ctx, to, e); err != nil {
			return err
		}
	}
	return w.Bus.Publish(ctx, to, e)
}

func (w *wire) Receive(ctx context.Context, s bus.Subscription) iter.Seq2[*bus.Delivery, error] {
	return func(yield func(*bus.Delivery, error) bool) {
		for d, err := range w.Bus.Receive(ctx, s) {
			if err == nil && w.lost(d.Envelope) {
				continue
			}
			if !yield(d, err) {
				return
			}
			if w.twice && err == nil && !yield(d, nil) {
				return
			}
		}
	}
}
