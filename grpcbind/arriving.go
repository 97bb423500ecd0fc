package grpcbind

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/tap"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/membudget"
)

// slowAfter is the time after which a small message that has not arrived counts as slow. Small
// messages come together with the head of their call.
const slowAfter = 250 * time.Millisecond

// window is the number of bytes of a message that may arrive before it is admitted, and slowNeed the
// memory for them.
const (
	window   = 1<<16 - 1
	slowNeed = 2 * membudget.Small
)

// leastSlow is the least number of slow messages that may arrive at one time.
const leastSlow = 4

// arrivals bounds the memory of messages while they arrive.
type arrivals struct {
	// message is the largest size of a message.
	message int64
	memory  *membudget.Budget
	// large is the part of memory that large messages may occupy while they arrive, so that those
	// that have arrived can be decoded. A message draws on both.
	large membudget.Budget
	// slow is the memory for slow messages of small or unknown size.
	slow int64

	mu     sync.Mutex // guards the fields below
	used   int64
	places int
}

// newArrivals returns bounds for messages of a largest size.
func newArrivals(memory *membudget.Budget, message int64) *arrivals {
	half := max(1, memory.Stats().Max/2)
	a := &arrivals{message: max(message, 1), memory: memory, slow: half}
	a.large.Max, a.large.Wait = half, memory.Wait
	return a
}

// take reports whether one more slow message that needs n bytes may arrive.
func (a *arrivals) take(n int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used+n > a.slow && a.places >= leastSlow {
		return false
	}
	a.used += n
	a.places++
	return true
}

// leave is called if take has reported true for n bytes.
func (a *arrivals) leave(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= n
	a.places--
}

// arriving is the context of a call whose message may not have arrived. It ends if that takes too
// long, or if too many messages arrive slowly.
type arriving struct {
	context.Context //nolint:containedctx // it is a context

	all    *arrivals
	time   time.Duration // for the message to arrive
	cancel context.CancelCauseFunc
	forget func() bool // the end of the call
	// message is nil if the connection has no meter, and unwatch then, too.
	message *incoming
	unwatch func()

	mu    sync.Mutex // guards the fields below
	timer *time.Timer
	slow  int64
	done  bool
	// large and hold are the memory of a large message.
	large, hold *membudget.Hold
}

// errSlowMessage is the cause of the end of a call whose message did not arrive in time.
var errSlowMessage = errors.New("the message took too long to arrive")

// arriving returns the context of a new call, before its message is read.
func (b *Binding) arriving(ctx callContext, _ *tap.Info) (context.Context, error) {
	m := meterOf(ctx)
	if m != nil && m.whole() {
		return ctx, nil
	}
	ctx, cancel := context.WithCancelCause(ctx) // gRPC ends the parent with the call
	a := &arriving{Context: ctx, all: b.arrivals, time: b.cfg.Limits.BodyTime, cancel: cancel, unwatch: func() {}}
	if m != nil {
		a.message, a.unwatch = m.watch(cancel)
	}
	first := min(slowAfter, a.time)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(first, func() { a.late(a.time - first) })
	a.forget = context.AfterFunc(ctx, a.ended)
	return a, nil
}

// late counts the message as slow, or ends the call if there are too many, or no time is left.
func (a *arriving) late(left time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.all.message
	if a.message != nil {
		n = min(n, slowNeed)
	}
	switch {
	case a.done:
	case left <= 0 || a.slow == 0 && !a.all.take(n):
		a.cancel(errSlowMessage)
	default:
		a.slow = n
		a.timer = time.AfterFunc(left, func() { a.late(0) })
	}
}

// arrived notes that the message has arrived.
func (a *arriving) arrived() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.arrivedLocked()
	if a.hold == nil {
		a.forget()
	}
}

func (a *arriving) arrivedLocked() {
	if a.done {
		return
	}
	a.done = true
	a.unwatch()
	a.pauseLocked()
}

// pauseLocked ends the time for the message to arrive.
func (a *arriving) pauseLocked() {
	a.timer.Stop()
	if a.slow > 0 {
		a.all.leave(a.slow)
		a.slow = 0
	}
}

// ended notes the end of the call.
func (a *arriving) ended() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.arrivedLocked()
	a.large.Release()
	a.hold.Release()
}

// maxRatio is the largest ratio of compression by gzip.
const maxRatio = 1032

// admit waits until a large message may arrive. The caller of such a message must be known.
func (s *base) admit(ctx context.Context) error {
	a := arrivingFrom(ctx)
	if a == nil || a.message == nil {
		return nil
	}
	select {
	case <-a.message.known:
	case <-ctx.Done():
		return nil // gRPC knows the reason
	}
	// Larger ones are refused by gRPC when it reads their prefix.
	size := a.message.size
	if a.message.compressed {
		size = min(size*maxRatio, a.all.message)
	}
	if size <= membudget.Small || size > a.all.message {
		return nil
	}
	err := s.known(ctx)
	if err == nil {
		err = a.acquire(ctx, size)
	}
	if err != nil && ctx.Err() == nil {
		return s.fail(ctx, dialect.SendMessage, err)
	}
	return nil
}

// known reports an error if the caller of a call is not known.
func (s *base) known(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	p, err := s.cfg.Auth.Authenticate(ctx, request(ctx, md))
	if err != nil {
		return err
	}
	return auth.Known(p)
}

// arrivalFactor is the memory for a large message until it is decoded, as a multiple of its size: the
// frames as they arrived, their bytes joined, and the message. gRPC decodes it before it asks for the
// memory of the next step.
const arrivalFactor = 3

// acquire acquires the memory of a large message while it arrives. The time for that begins
// afterwards.
func (a *arriving) acquire(ctx context.Context, size int64) error {
	a.mu.Lock()
	a.pauseLocked()
	a.mu.Unlock()
	need := arrivalFactor * size
	large, err := a.all.large.Acquire(ctx, need)
	if err != nil {
		return err
	}
	hold, err := a.all.memory.Acquire(ctx, need)
	if err != nil {
		large.Release()
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		large.Release()
		hold.Release()
		return nil
	}
	a.large, a.hold = large, hold
	a.timer = time.AfterFunc(a.time, func() { a.late(0) })
	return nil
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

// arrivingFrom returns the arriving of a call; nil if its message had arrived with its head.
func arrivingFrom(ctx context.Context) *arriving {
	a, _ := ctx.Value(arrivingKey{}).(*arriving)
	return a
}

// arrived notes that the message of a call has arrived.
func arrived(ctx context.Context) {
	if a := arrivingFrom(ctx); a != nil {
		a.arrived()
	}
}
