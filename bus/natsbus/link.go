package natsbus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/parley-a2a/parley/bus"
)

// errLost is the cause of what ends with the connection.
var errLost = errors.New("the connection was lost")

// link tells whether there is a connection.
type link struct {
	mu   sync.Mutex
	up   context.Context // ends with the connection; nil while there is none
	down context.CancelCauseFunc
	back chan struct{} // closed when there is one again
	// since is when up has changed, or when the first connection was missed.
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

// state returns what ends with the connection; or nil, and what is closed when there is one.
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

// await waits for a connection, and returns what ends with it.
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

// connected is called by the client, one call at a time with the other callbacks.
func (b *Bus) connected(nc *nats.Conn) {
	b.mu.Lock()
	clear(b.shown)
	b.declared = false // it may be another server, or have lost what it had in memory
	ready := make([]func(), 0, len(b.listeners))
	for _, f := range b.listeners {
		ready = append(ready, f)
	}
	b.mu.Unlock()
	b.link.connect()
	b.log.Info("bus: connected", "server", b.server(nc), "version", nc.ConnectedServerVersion())
	if nc.FlushTimeout(b.options.Timeout) != nil {
		return // it is lost again
	}
	for _, f := range ready {
		f()
	}
}

// server names the server of a connection for people. A server of this process has no
// address here; that which the client tells is the default one.
func (b *Bus) server(nc *nats.Conn) string {
	if b.options.Server != nil {
		return b.options.target()
	}
	return bare(nc.ConnectedUrl())
}

// closed is called when the client gives up: its key was refused twice.
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

// asyncError is told what the client cannot return anywhere.
func (b *Bus) asyncError(_ *nats.Conn, sub *nats.Subscription, err error) {
	if sub != nil && errors.Is(err, nats.ErrSlowConsumer) {
		b.log.Warn("bus: a slow reader loses envelopes", "at", sub.Subject)
		return
	}
	b.log.Warn("bus: the server says", "error", err)
}

// bounded returns ctx with the end of b and the Timeout of its options.
func (b *Bus) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.options.Timeout,
		fmt.Errorf("no answer within %v: %w", b.options.Timeout, context.DeadlineExceeded))
	ctx, end := b.until(ctx)
	return ctx, func() { end(); cancel() }
}

// until returns ctx with the end of b, whose cause is bus.ErrClosed.
func (b *Bus) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.ctx, func() { cancel(bus.ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// away reports whether err says that there is no connection, so nothing was sent.
func away(err error) bool {
	return errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrConnectionReconnecting) ||
		errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrConnectionClosed)
}
