package natsbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/bus"
)

// Error codes of a server that is full.
const (
	codeInsufficient jetstream.ErrorCode = 10023 // resources
	codeMemory       jetstream.ErrorCode = 10028 // of the account
	codeStorage      jetstream.ErrorCode = 10047 // of the account
	codeStoreFailed  jetstream.ErrorCode = 10077 // maximum bytes, or a disk that is full
)

// codeInProcess is the error code of a cluster whose servers still store a message with the same id.
const codeInProcess jetstream.ErrorCode = 10158

// firstPause and lastPause are the first and the longest pause between two tries at a stream
// that does not answer.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// errSilent is the cause of a new try. A stream that is deleted at that moment, for example,
// never answers.
var errSilent = errors.New("the stream does not answer")

// post sends data to the current subscribers, once the bus is connected.
func (b *Bus) post(ctx context.Context, subject string, data []byte) error {
	for {
		if _, err := b.await(ctx); err != nil {
			return b.giveUpError(err, false)
		}
		err := b.nc.Publish(subject, data)
		switch {
		case err == nil:
			return nil
		case b.ctx.Err() != nil:
			return bus.ErrClosed
		case !disconnected(err):
			return sent(err)
		}
		if err := backoff.Sleep(ctx, firstPause); err != nil { // link is notified a moment later
			return b.giveUpError(err, false)
		}
	}
}

// store publishes m at the stream until the stream confirms it. A try whose response was lost
// with the connection is repeated: the stream knows the id.
func (b *Bus) store(ctx context.Context, m *nats.Msg) error {
	unknown := false
	for d := firstPause; ; d = min(2*d, lastPause) {
		up, err := b.await(ctx)
		if err == nil {
			err = b.try(ctx, up, m)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return b.giveUpError(context.Cause(ctx), unknown || errors.Is(err, bus.ErrUnknown))
		case errors.Is(err, bus.ErrUnknown):
			unknown = true
		case noStream(err):
			b.undeclare()
			if err := b.declare(ctx); permanent(err) {
				return err
			}
		case !disconnected(err):
			return sent(err)
		}
		if err := backoff.Sleep(ctx, d); err != nil {
			return b.giveUpError(err, unknown)
		}
	}
}

// try publishes m once. The error is bus.ErrUnknown if no response came, or an earlier try may still succeed.
func (b *Bus) try(ctx, up context.Context, m *nats.Msg) error {
	ctx, enough := context.WithTimeoutCause(ctx, b.options.Timeout/4, errSilent)
	defer enough()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(up, func() { cancel(errLost) })()
	_, err := b.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), bus.ErrUnknown)
	}
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == codeInProcess {
		return fmt.Errorf("%w: %w", err, bus.ErrUnknown)
	}
	return err
}

// giveUpError returns the error of a call that could not be finished because of err.
func (b *Bus) giveUpError(err error, unknown bool) error {
	switch {
	case unknown && b.ctx.Err() != nil:
		return fmt.Errorf("%w: %w", bus.ErrClosed, bus.ErrUnknown)
	case b.ctx.Err() != nil:
		return bus.ErrClosed
	case unknown:
		return fmt.Errorf("%w: %w", err, bus.ErrUnknown)
	}
	return fmt.Errorf("%w: %w", err, bus.ErrUnavailable)
}

// sent converts an error of the server or of the client to an error of the bus.
func sent(err error) error {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, nats.ErrMaxPayload), errors.Is(err, jetstream.ErrStreamMessageExceedsMaximum):
		return fmt.Errorf("%w: %w", err, bus.ErrTooLarge)
	case errors.Is(err, nats.ErrConnectionClosed):
		return bus.ErrClosed
	case !errors.As(err, &api):
		return err
	}
	switch api.ErrorCode {
	case codeInsufficient, codeMemory, codeStorage, codeStoreFailed:
		return fmt.Errorf("%w: %w", err, bus.ErrFull)
	}
	if api.Code == 503 {
		return fmt.Errorf("%w: %w", err, bus.ErrUnavailable)
	}
	return err
}
