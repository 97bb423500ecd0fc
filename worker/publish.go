package worker

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/task"
)

func (r *run) source() string { return "worker/" + r.id }

// envelope returns an envelope from the worker. It has no id, because most envelopes are
// batched with others: send adds one.
func (r *run) envelope(kind bus.Type) *bus.Envelope {
	return &bus.Envelope{
		Type: kind, Time: task.MillisOf(time.Now()),
		Source: r.source(), ReplyTo: protocol.WorkerAt(r.id).Name,
	}
}

// trySend publishes a message that may be lost: it logs an error and returns none.
func (r *run) trySend(ctx context.Context, to bus.Address, e *bus.Envelope, body any) {
	if err := r.publish(ctx, to, e, body); err != nil && ctx.Err() == nil {
		r.Logger.Debug("not published", "type", e.Type, "at", to, "error", err)
	}
}

func (r *run) publish(ctx context.Context, to bus.Address, e *bus.Envelope, body any) (err error) {
	if e.Body, err = protocol.Encode(body); err != nil {
		return err
	}
	return r.send(ctx, to, e)
}

func (r *run) send(ctx context.Context, to bus.Address, e *bus.Envelope) error {
	if e.ID == "" {
		e.ID = uuid.NewString()
	}
	return r.Bus.Publish(ctx, to, e)
}

// post publishes e with a body at a hub's topic, in one batch with concurrent ones.
func (r *run) post(ctx context.Context, to bus.Address, e *bus.Envelope, body any) (err error) {
	if e.Body, err = protocol.Encode(body); err != nil {
		return err
	}
	if len(e.Body) > protocol.MaxBatched {
		return r.send(ctx, to, e)
	}
	return r.batched.Send(ctx, to, e, func(all []*bus.Envelope) error {
		joined, err := protocol.Join(all)
		if err != nil {
			return err
		}
		return r.send(ctx, to, joined)
	})
}

// logSettlement logs the error of a settlement. The broker redelivers in that case.
func (r *run) logSettlement(err error) {
	if err != nil {
		r.Logger.Debug("delivery not settled", "error", err)
	}
}
