package amqpbus

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/internal/bus"
)

// DefaultTimeout is the Timeout of a Bus without one.
const DefaultTimeout = 10 * time.Second

// Bus is a bus on RabbitMQ. URL is required; fields must not change once it is in use. Its
// methods are safe for concurrent use.
type Bus struct {
	// URL is the address: amqp://user:password@host:port/vhost, or amqps for TLS. Those of the nodes of a cluster
	// are separated by commas; each connection is to one that answers. It appears in no log record and no error.
	URL string
	// TLS is for amqps. If nil, the certificate must be valid for the host of URL.
	TLS *tls.Config
	// Name is the name of the connections in the broker's tools. Empty means "parley".
	Name string
	// Timeout is the longest time for which Publish and the methods of Operator wait for the
	// broker, if their context does not end before. Zero means DefaultTimeout.
	Timeout time.Duration
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger

	once   sync.Once
	wrong  error           // the result of Check
	ctx    context.Context // ends with Close, with cause bus.ErrClosed
	cancel context.CancelCauseFunc
	owned  sync.WaitGroup
	owning sync.Mutex // held while owned grows, and while Close ends that
	// out carries published messages, in all other traffic. They are separate because a broker
	// with a full disk stops reading from a connection that publishes.
	in, out      connection
	declared     nameSet // queues and exchanges that are known to exist
	reachability reachability
}

var (
	_ bus.Bus        = (*Bus)(nil)
	_ bus.Operator   = (*Bus)(nil)
	_ bus.Durability = (*Bus)(nil)
	_ bus.Monitor    = (*Bus)(nil)
)

// begin initialises the zero value.
func (b *Bus) begin() {
	b.once.Do(func() {
		b.wrong = b.Check()
		b.ctx, b.cancel = context.WithCancelCause(context.Background())
		b.in = connection{bus: b}
		b.out = connection{bus: b, channels: publishChannels}
	})
}

// Check returns an error if the URL is invalid. It does not connect.
func (b *Bus) Check() error {
	for _, node := range b.nodes() {
		u, err := url.Parse(node)
		if err != nil || u.Host == "" {
			return errURL // the error of the parser would contain the password
		}
		if _, err := amqp.ParseURI(node); err != nil {
			return errURL
		}
	}
	return nil
}

// nodes returns the addresses of the nodes of the broker.
func (b *Bus) nodes() []string {
	nodes := strings.Split(b.URL, ",")
	for i := range nodes {
		nodes[i] = strings.TrimSpace(nodes[i])
	}
	return nodes
}

var errURL = errors.New("address of RabbitMQ is not amqp://user:password@host:port/vhost or amqps://…, " +
	"where special characters in names and passwords are percent-encoded")

// address returns the address without secrets.
func (b *Bus) address() string {
	nodes := b.nodes()
	for i := range nodes {
		u, err := url.Parse(nodes[i])
		if err != nil {
			return "?"
		}
		nodes[i] = u.Scheme + "://" + u.Host + u.EscapedPath()
	}
	return strings.Join(nodes, ",")
}

func (b *Bus) log() *slog.Logger {
	if b.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return b.Logger
}

// withTimeout returns a context that ends after Timeout, and with the bus.
func (b *Bus) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(b.Timeout, DefaultTimeout), errTimeout)
	return b.withBus(ctx, cancel)
}

// withBus returns a context that also ends with the bus.
func (b *Bus) withBus(ctx context.Context, done context.CancelFunc) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.ctx, func() { cancel(bus.ErrClosed) })
	return ctx, func() { stop(); cancel(nil); done() }
}

var errTimeout = errors.New("no answer in time")

// check returns an error if the bus is closed, its URL is invalid or at is.
func (b *Bus) check(at bus.Address) error {
	b.begin()
	if b.ctx.Err() != nil {
		return bus.ErrClosed
	}
	if b.wrong != nil {
		return b.wrong
	}
	return at.Check()
}

// Durable implements bus.Durability: queues survive all processes, including the broker's.
func (b *Bus) Durable() bool { return true }

// Close implements bus.Bus.
func (b *Bus) Close() error {
	b.begin()
	b.owning.Lock()
	b.cancel(bus.ErrClosed)
	b.owning.Unlock()
	b.owned.Wait()
	return nil
}

// spawn runs f in a goroutine that Close waits for, unless the bus is closed.
func (b *Bus) spawn(f func()) {
	b.owning.Lock()
	defer b.owning.Unlock()
	if b.ctx.Err() == nil {
		b.owned.Go(f)
	}
}

// Publish implements bus.Bus.
func (b *Bus) Publish(ctx context.Context, to bus.Address, e *bus.Envelope) error {
	if err := b.publish(ctx, to, e); err != nil {
		return fmt.Errorf("publish %q at %s: %w", e.ID, to, err)
	}
	return nil
}

func (b *Bus) publish(ctx context.Context, to bus.Address, e *bus.Envelope) error {
	if err := b.check(to); err != nil {
		return err
	}
	body, err := e.Encode()
	if err != nil {
		return err
	}
	m := &message{to: to, properties: properties(e, body)}
	if to.Kind == bus.TopicKind {
		m.exchange = topics
		m.properties.DeliveryMode = amqp.Transient
	}
	return b.send(ctx, m)
}

// properties returns the message with the properties that RabbitMQ shows to operators. They
// have no other use.
func properties(e *bus.Envelope, body []byte) amqp.Publishing {
	return amqp.Publishing{
		ContentType: "application/json", DeliveryMode: amqp.Persistent, Body: body,
		MessageId: short(e.ID), Type: short(string(e.Type)), CorrelationId: short(e.Correlation), AppId: short(e.Source),
	}
}

// short returns s, or "" if it is too long for a short string of AMQP.
func short(s string) string {
	if len(s) > 255 {
		return ""
	}
	return s
}
