package natsbus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/parley-a2a/parley/internal/bus"
)

// errLost is the cancel cause of contexts that end with the connection.
var errLost = errors.New("the connection was lost")

// link is the state of the connection.
type link struct {
	mu   sync.Mutex
	up   context.Context // ends with the connection; nil while disconnected
	down context.CancelCauseFunc
	back chan struct{} // closed on the next connection
	// since is the time of the last change of up; before the first connection, the time of
	// creation.
	since time.Time
}

func newLink() *link { return &link{back: make(chan struct{}), since: time.Now()} }

// Connection implements bus.Monitor.
func (b *Bus) Connection() bus.Connection {
	b.link.mu.Lock()
	defer b.link.mu.Unlock()
	c := bus.Connection{Up: b.link.up != nil, Since: b.link.since}
	if !c.Up {
		c.Reason = "the server is not reachable"
	}
	return c
}

// state returns a context that ends with the connection. While disconnected it is nil, and back
// is closed on the next connection.
func (l *link) state() (up context.Context, back <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up, l.back
}

func (l *link) connect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.up == nil {
		l.up, l.down = context.WithCancelCause(context.Background())
		l.since = time.Now()
		close(l.back)
	}
}

func (l *link) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.up != nil {
		l.down(errLost)
		l.up, l.back, l.since = nil, make(chan struct{}), time.Now()
	}
}

// await waits for a connection, and returns a context that ends with it.
func (b *Bus) await(ctx context.Context) (up context.Context, err error) {
	for {
		up, back := b.link.state()
		if up != nil {
			return up, nil
		}
		select {
		case <-back:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// connected is a callback of the client, which makes one callback at a time.
func (b *Bus) connected(nc *nats.Conn) {
	b.mu.Lock()
	clear(b.shown)
	b.declared = false // it may be another server, or have lost its memory
	ready := make([]func(), 0, len(b.listeners))
	for _, f := range b.listeners {
		ready = append(ready, f)
	}
	b.mu.Unlock()
	b.link.connect()
	b.log.Info("bus: connected", "server", b.server(nc), "version", nc.ConnectedServerVersion())
	if nc.FlushTimeout(b.options.Timeout) != nil {
		return // disconnected again
	}
	for _, f := range ready {
		f()
	}
}

// server returns the address of the connected server for the log. For a server of this process,
// the client would report its default address.
func (b *Bus) server(nc *nats.Conn) string {
	if b.options.Server != nil {
		return b.options.target()
	}
	return bare(nc.ConnectedUrl())
}

// closed is a callback of the client when it stops reconnecting: its key was refused twice.
func (b *Bus) closed(nc *nats.Conn) {
	if b.ctx.Err() != nil {
		return
	}
	err := fmt.Errorf("%w by the broker at %s: %w", ErrRefused, b.options.target(), nc.LastError())
	b.refusal.Store(&err)
	b.link.lose()
	b.end()
}

func (b *Bus) disconnected(_ *nats.Conn, err error) {
	b.link.lose()
	if b.ctx.Err() == nil {
		b.log.Warn("bus: connection lost", "error", err)
	}
}

// asyncError is a callback of the client for errors that it cannot return.
func (b *Bus) asyncError(_ *nats.Conn, sub *nats.Subscription, err error) {
	if sub != nil && errors.Is(err, nats.ErrSlowConsumer) {
		b.log.Warn("bus: a slow reader loses envelopes", "at", sub.Subject)
		return
	}
	b.log.Warn("bus: the server says", "error", err)
}

// bounded returns a child of ctx that also ends with b and after the Timeout of its options.
func (b *Bus) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.options.Timeout,
		fmt.Errorf("no answer within %v: %w", b.options.Timeout, context.DeadlineExceeded))
	ctx, end := b.withBus(ctx)
	return ctx, func() { end(); cancel() }
}

// withBus returns a child of ctx that also ends with b; the cause then is bus.ErrClosed.
func (b *Bus) withBus(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.ctx, func() { cancel(bus.ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// disconnected reports whether err means that the client is disconnected and has sent nothing.
func disconnected(err error) bool {
	return errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrConnectionReconnecting) ||
		errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrConnectionClosed)
}
