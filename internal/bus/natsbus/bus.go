package natsbus

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/parley-a2a/parley/internal/bus"
)

// Bus is a bus on NATS. Open creates one. Its methods are safe for concurrent use.
type Bus struct {
	options Options
	log     *slog.Logger
	nc      *nats.Conn
	js      jetstream.JetStream
	link    *link
	ctx     context.Context // ends with Close
	end     context.CancelFunc
	closing sync.Once
	refusal atomic.Pointer[error] // why the server closed the bus; nil if it did not

	declaring sync.Mutex // held while the stream is looked up or created
	mu        sync.Mutex // guards the fields below
	declared  bool       // the stream exists
	memory    bool       // and is in memory
	receivers map[*receiver]struct{}
	listeners map[*nats.Subscription]func() // the callbacks to call after a reconnection
	shown     map[string]struct{}           // queues whose consumer was looked up
}

var (
	_ bus.Bus        = (*Bus)(nil)
	_ bus.Operator   = (*Bus)(nil)
	_ bus.Durability = (*Bus)(nil)
	_ bus.Monitor    = (*Bus)(nil)
)

// Open connects to a server. It waits until ctx ends, but at most for Timeout, until the stream
// exists. If no server can be reached or the stream does not answer in that time, Open succeeds
// nevertheless, logs the reason, and the bus keeps trying; Publish returns bus.ErrUnavailable
// meanwhile. Open returns an error if the options are invalid, if the server refuses this
// client, or if it has no suitable stream.
func Open(ctx context.Context, o Options) (*Bus, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	b := &Bus{
		options: o, log: o.Logger, ctx: life, end: end, memory: o.Memory, link: newLink(),
		receivers: map[*receiver]struct{}{}, listeners: map[*nats.Subscription]func(){},
		shown: map[string]struct{}{},
	}
	var err error
	if b.nc, err = b.dial(); err != nil {
		end()
		if bad := (*url.Error)(nil); errors.As(err, &bad) {
			err = errURL // the error of the parser would contain the password
		}
		return nil, fmt.Errorf("open bus at %s: %w", o.target(), err)
	}
	if b.js, err = jetstream.New(b.nc); err == nil {
		err = b.begin(ctx)
	}
	if err != nil {
		_ = b.Close()
		return nil, fmt.Errorf("open bus at %s: %w", o.target(), err)
	}
	return b, nil
}

var errURL = errors.New("address of NATS is not nats://user:password@host:port or tls://…, " +
	"where special characters in names and passwords are percent-encoded")

// dialTries is the number of attempts at a server that resets accepted connections: a reset may
// overtake the refusal that the server has sent.
const dialTries = 3

// dial connects. Its first tries use no background reconnection, which would hide the errors
// of an untrusted server and of a refused client.
func (b *Bus) dial() (*nats.Conn, error) {
	o := b.connection()
	for range dialTries {
		nc, err := nats.Connect(b.options.URL, append(o, nats.RetryOnFailedConnect(false))...)
		if err == nil || distrusts(err) {
			return nc, err
		}
		if refused(err) {
			return nil, b.opened(err)
		}
		if !brokenOff(err) {
			break
		}
	}
	return nats.Connect(b.options.URL, o...)
}

// brokenOff reports whether the server ended an established connection without an error
// message.
func brokenOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// begin waits for the stream if the bus is connected. It does not wait for a connection: a hub
// serves its callers while its broker is unreachable.
func (b *Bus) begin(ctx context.Context) error {
	ctx, cancel := b.bounded(ctx)
	defer cancel()
	if err := b.nc.LastError(); refused(err) {
		return b.opened(err)
	}
	if up, _ := b.link.state(); up == nil && !b.nc.IsConnected() {
		b.log.Warn("bus: not reachable yet, retrying", "server", b.options.target(), "error", cmp.Or(b.nc.LastError(), nats.ErrNoServers))
		return nil
	}
	err := b.declare(ctx)
	if err == nil || permanent(err) {
		return err
	}
	if last := b.nc.LastError(); refused(last) {
		return b.opened(last)
	}
	b.log.Warn("bus: not reachable yet", "server", b.options.target(), "error", err)
	return nil
}

// ErrRefused is returned if the server refuses a key: it is unknown or expired, or belongs to
// another agent.
var ErrRefused = errors.New("key rejected")

// whyClosed returns bus.ErrClosed, together with ErrRefused if the server refused the key.
func (b *Bus) whyClosed() error {
	if why := b.refusal.Load(); why != nil {
		return fmt.Errorf("%w: %w", bus.ErrClosed, *why)
	}
	return bus.ErrClosed
}

// distrusts reports whether the TLS verification of the server failed, or only one side
// requires TLS.
func distrusts(err error) bool {
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &certificate) || errors.Is(err, nats.ErrSecureConnWanted) || errors.Is(err, nats.ErrSecureConnRequired)
}

// refused reports whether a server refused this client.
func refused(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked) ||
		errors.Is(err, nats.ErrAccountAuthExpired)
}

// opened returns the error of Open for a refusal. Its text does not depend on the server's
// version.
func (b *Bus) opened(err error) error {
	if !errors.Is(err, nats.ErrAuthorization) {
		return err
	}
	if b.options.Agent != "" {
		return fmt.Errorf("%w: %w", ErrRefused, nats.ErrAuthorization)
	}
	return nats.ErrAuthorization
}

// Publish implements bus.Bus.
func (b *Bus) Publish(ctx context.Context, to bus.Address, e *bus.Envelope) error {
	err := b.check(ctx, to)
	if err == nil {
		var data []byte
		if data, err = e.Encode(); err == nil {
			err = b.send(ctx, to, e.ID, data)
		}
	}
	if err != nil {
		return fmt.Errorf("publish %q at %s: %w", e.ID, to, err)
	}
	return nil
}

// check returns an error if at is invalid, the bus is closed or ctx has ended.
func (b *Bus) check(ctx context.Context, at bus.Address) error {
	if err := at.Check(); err != nil {
		return err
	}
	if b.ctx.Err() != nil {
		return b.whyClosed()
	}
	return context.Cause(ctx)
}

func (b *Bus) send(ctx context.Context, to bus.Address, id string, data []byte) error {
	ctx, cancel := b.bounded(ctx)
	defer cancel()
	if to.Kind == bus.TopicKind {
		return b.post(ctx, Subject(to), data)
	}
	m := nats.NewMsg(Subject(to))
	m.Header.Set(jetstream.MsgIDHeader, messageID(to.Name, id))
	m.Data = data
	if err := b.store(ctx, m); err != nil {
		return err
	}
	b.show(ctx, to)
	return nil
}

// Receive implements bus.Bus.
func (b *Bus) Receive(ctx context.Context, s bus.Subscription) iter.Seq2[*bus.Delivery, error] {
	return func(yield func(*bus.Delivery, error) bool) {
		err := b.check(ctx, s.At)
		if err == nil {
			inner, cancel := b.withBus(ctx)
			defer cancel()
			if s.At.Kind == bus.QueueKind {
				err = b.receiveQueue(inner, s, yield)
			} else {
				err = b.receiveTopic(inner, s, yield)
			}
		}
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, nats.ErrConnectionClosed):
			<-b.ctx.Done() // by Close, or by closed when the client has stopped reconnecting
			fallthrough
		case b.ctx.Err() != nil:
			yield(nil, fmt.Errorf("receive at %s: %w", s.At, b.whyClosed()))
		default:
			yield(nil, fmt.Errorf("receive at %s: %w", s.At, err))
		}
	}
}

// Durable implements bus.Durability: a stream on disk outlives its server.
func (b *Bus) Durable() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.memory
}

// Close implements bus.Bus. Held envelopes return to their queues.
func (b *Bus) Close() error {
	b.closing.Do(func() {
		b.end()
		b.mu.Lock()
		receivers := make([]*receiver, 0, len(b.receivers))
		for r := range b.receivers {
			receivers = append(receivers, r)
		}
		b.mu.Unlock()
		for _, r := range receivers {
			r.leave()
		}
		if up, _ := b.link.state(); up != nil {
			ctx, cancel := context.WithTimeout(up, b.options.Timeout)
			if err := b.nc.FlushWithContext(ctx); err != nil {
				b.log.Warn("bus: close", "error", err)
			}
			cancel()
		}
		b.nc.Close()
		b.link.lose()
	})
	return nil
}
