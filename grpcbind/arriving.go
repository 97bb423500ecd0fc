package grpcbind

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/tap"
)

// slowAfter is the time after which a message that has not arrived counts as slow. Small messages
// come together with the head of their call.
const slowAfter = 250 * time.Millisecond

// leastSlow is the least number of slow messages that may arrive at one time.
const leastSlow = 4

// arrivals bounds the messages that arrive slowly: gRPC holds the part of them that has arrived in
// memory, and announces their size to nothing but its own reader.
type arrivals struct {
	most int

	mu   sync.Mutex // guards slow
	slow int
}

// newArrivals returns bounds for messages of a largest size that together have some memory.
func newArrivals(memory, message int64) *arrivals {
	return &arrivals{most: int(max(leastSlow, memory/2/max(message, 1)))}
}

// take reports whether one more slow message may arrive.
func (a *arrivals) take() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.slow >= a.most {
		return false
	}
	a.slow++
	return true
}

func (a *arrivals) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.slow--
}

// arriving is the context of a call whose message may not have arrived. It ends if that takes too
// long, or if too many messages arrive slowly.
type arriving struct {
	context.Context //nolint:containedctx // it is a context

	all    *arrivals
	cancel context.CancelCauseFunc
	forget func() bool // the end of the call

	mu    sync.Mutex // guards the fields below
	timer *time.Timer
	slow  bool
	done  bool
}

// errSlowMessage is the cause of the end of a call whose message did not arrive in time.
var errSlowMessage = errors.New("the message took too long to arrive")

// arriving returns the context of a new call, before its message is read.
func (b *Binding) arriving(ctx callContext, _ *tap.Info) (context.Context, error) {
	ctx, cancel := context.WithCancelCause(ctx) // gRPC ends the parent with the call
	a := &arriving{Context: ctx, all: b.arrivals, cancel: cancel}
	first := min(slowAfter, b.cfg.Limits.BodyTime)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(first, func() { a.late(b.cfg.Limits.BodyTime - first) })
	a.forget = context.AfterFunc(ctx, a.arrived)
	return a, nil
}

// late counts the message as slow, or ends the call if there are too many, or no time is left.
func (a *arriving) late(left time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.done:
	case left <= 0 || !a.slow && !a.all.take():
		a.cancel(errSlowMessage)
	default:
		a.slow = true
		a.timer = time.AfterFunc(left, func() { a.late(0) })
	}
}

// arrived notes that the message has arrived, or that the call has ended.
func (a *arriving) arrived() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return
	}
	a.done = true
	a.forget()
	a.timer.Stop()
	if a.slow {
		a.all.leave()
	}
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
		a.arrived()
	}
}
