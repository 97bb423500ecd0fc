package grpcbind

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/tap"
)

// arriving is the context of a call whose message may not have arrived. It ends if that takes too
// long.
type arriving struct {
	context.Context //nolint:containedctx // it is a context

	late *time.Timer
}

// errSlowMessage is the cause of the end of a call whose message did not arrive in time.
var errSlowMessage = errors.New("the message took too long to arrive")

// arriving returns the context of a new call, before its message is read.
func (b *Binding) arriving(ctx callContext, _ *tap.Info) (context.Context, error) {
	ctx, cancel := context.WithCancelCause(ctx) // gRPC ends the parent with the call
	return &arriving{ctx, time.AfterFunc(b.cfg.Limits.BodyTime, func() { cancel(errSlowMessage) })}, nil
}

type arrivingKey struct{}

// Value implements context.Context.
func (a *arriving) Value(key any) any {
	if key == (arrivingKey{}) {
		return a
	}
	return a.Context.Value(key)
}

// Err implements context.Context. gRPC makes the status of the call of it.
func (a *arriving) Err() error {
	err := a.Context.Err()
	if err != nil && errors.Is(context.Cause(a.Context), errSlowMessage) {
		return context.DeadlineExceeded
	}
	return err
}

// arrived notes that the message of a call has arrived.
func arrived(ctx context.Context) {
	if a, ok := ctx.Value(arrivingKey{}).(*arriving); ok {
		a.late.Stop()
	}
}
