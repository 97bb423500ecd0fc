package bus

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
)

// Bus carries envelopes between processes. Its methods are safe for concurrent use.
type Bus interface {
	// Publish sends e to an address. At a queue it returns nil once the bus has stored the
	// envelope as safely as it stores any (a confirm of the broker); at a topic, once the
	// envelope is sent. If the error is ErrUnknown, the broker may have accepted the envelope:
	// the caller may publish it again with the same ID. e must not change until Publish
	// returns.
	Publish(ctx context.Context, to Address, e *Envelope) error
	// Receive yields the envelopes that arrive at an address, until ctx ends or the loop is
	// left. The bus reconnects by itself and does not report a lost connection. It yields an
	// error at most once, as the last value, and only one that persists; the end of ctx is no
	// error. Deliveries of a queue that are not settled when the loop is left are delivered
	// again, to this receiver or another one.
	Receive(ctx context.Context, s Subscription) iter.Seq2[*Delivery, error]
	// Close disconnects and waits for the goroutines of the bus. Receive and Publish then end
	// with ErrClosed.
	Close() error
}

// Kind is the kind of an address: how it distributes envelopes.
type Kind uint8

const (
	// QueueKind keeps each envelope until one of its receivers has acknowledged it, even while
	// there is none.
	QueueKind Kind = iota + 1
	// TopicKind sends each envelope to all current receivers, and keeps none. An envelope may
	// be lost, and arrives at most once.
	TopicKind
)

// Address is where envelopes are published and received. The zero Address is invalid.
type Address struct {
	Kind Kind
	// Name consists of words of a–z, A–Z, 0–9, "-" and "_", joined by dots; at most 200 bytes.
	// It is the same on every bus.
	Name string
}

// Queue returns the address of a queue.
func Queue(name string) Address { return Address{QueueKind, name} }

// Topic returns the address of a topic.
func Topic(name string) Address { return Address{TopicKind, name} }

// String returns the kind and the name, for messages.
func (a Address) String() string {
	switch a.Kind {
	case QueueKind:
		return "queue " + a.Name
	case TopicKind:
		return "topic " + a.Name
	}
	return "no address"
}

// MaxName is the length of the longest name of an address in bytes.
const MaxName = 200

// Check returns an error that wraps ErrInvalid if a is not a valid address.
func (a Address) Check() error {
	if a.Kind != QueueKind && a.Kind != TopicKind {
		return fmt.Errorf("address %q: the kind must be queue or topic: %w", a.Name, ErrInvalid)
	}
	if len(a.Name) > MaxName {
		return fmt.Errorf("address %.20q…: name has %d bytes, more than %d: %w", a.Name, len(a.Name), MaxName, ErrInvalid)
	}
	for word := range strings.SplitSeq(a.Name, ".") {
		if !isWord(word) {
			return fmt.Errorf("address %q: a part of a name may only have letters, digits, - and _: %w", a.Name, ErrInvalid)
		}
	}
	return nil
}

func isWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// Subscription configures Receive. At is required.
type Subscription struct {
	At Address
	// Prefetch is the number of unsettled envelopes of a queue that this receiver may hold.
	// Zero means 1.
	Prefetch int
	// Lease is the time for which an envelope of a queue may be held without Delivery.Extend.
	// Then another receiver gets it. A bus that detects dead receivers may ignore it. Zero
	// means 30 s.
	Lease time.Duration
	// Unreadable, if set, is called with what could be read of an envelope at a topic that is not
	// valid, such as one of another version, on the goroutine of the loop over Receive.
	Unreadable func(e *Envelope)
	// Ready, if set, is called when the receiver gets everything published from then on: once
	// at the beginning, and after each reconnection. It is called on any goroutine and must not
	// block.
	Ready func()
}

// DefaultLease is the Lease of a Subscription without one.
const DefaultLease = 30 * time.Second

// MaxDeliveries is how often a queue delivers an envelope that is never acknowledged. Then the
// bus moves it from its queue to Dead, with a Reason.
const MaxDeliveries = 5

// Dead is the queue of the envelopes that were moved from their own queue: see MaxDeliveries
// and Delivery.DeadLetter. Envelope.Reason is the reason, Envelope.Queue the former queue;
// bytes that are no envelope arrive as one of TypeUnreadable. Dead has no MaxDeliveries: its
// envelopes stay until they are acknowledged. A program that publishes one of them again gives
// it a new id.
var Dead = Queue("dead")

// Delivery is an envelope that has arrived. The receiver must call one of Ack, Nak and
// DeadLetter for each delivery of a queue. A second call has no effect, nor has one after the
// loop of Receive was left. At a topic they have no effect. After the end of the lease, Ack may
// or may not count; the receiver is not notified.
type Delivery struct {
	*Envelope
	// At is the address where it has arrived.
	At Address
	// From is the agent whose worker has published it at a topic, if the broker vouches for
	// that: see protocol.CheckSender. It is empty if the broker does not authenticate
	// publishers.
	From string
	// Number counts the deliveries of this envelope as far as the bus knows, from 1.
	Number int
	// Settle applies a Settlement; the bus sets it. It is nil at a topic.
	Settle func(ctx context.Context, s Settlement) error
}

// Disposition is a receiver's decision on a delivery.
type Disposition uint8

// The dispositions.
const (
	// Acked deliveries are complete.
	Acked Disposition = iota + 1
	// Refused deliveries arrive again, after Settlement.After; the last delivery that
	// MaxDeliveries allows goes to Dead.
	Refused
	// Extended deliveries start a new lease.
	Extended
	// DeadLettered deliveries go to Dead at once, with Settlement.Reason. At Dead it is the
	// same as Refused.
	DeadLettered
)

// Settlement is a Disposition with its parameters.
type Settlement struct {
	Disposition Disposition
	After       time.Duration
	Reason      string
}

// Ack completes the delivery: the bus drops the envelope.
func (d *Delivery) Ack(ctx context.Context) error {
	return d.settle(ctx, Settlement{Disposition: Acked})
}

// Nak returns the envelope to the queue. It is delivered again after some time, which is exact
// on no bus; each delivery counts towards MaxDeliveries.
func (d *Delivery) Nak(ctx context.Context, after time.Duration) error {
	return d.settle(ctx, Settlement{Disposition: Refused, After: after})
}

// Extend restarts the lease.
func (d *Delivery) Extend(ctx context.Context) error {
	return d.settle(ctx, Settlement{Disposition: Extended})
}

// DeadLetter moves the envelope to Dead.
func (d *Delivery) DeadLetter(ctx context.Context, reason string) error {
	return d.settle(ctx, Settlement{Disposition: DeadLettered, Reason: reason})
}

func (d *Delivery) settle(ctx context.Context, s Settlement) error {
	if d.Settle == nil {
		return nil
	}
	return d.Settle(ctx, s)
}

// Depth is the number of envelopes and receivers of a queue.
type Depth struct {
	// Ready envelopes wait for a receiver, Held ones are with one. Held is 0 on a bus that does
	// not know the number.
	Ready, Held int64
	// Receivers is the number of active receivers; one that holds as many envelopes as it may
	// need not count.
	Receivers int
}

// Operator is optionally implemented by a bus, for administration. Errors are ErrUnavailable while the
// broker cannot be reached.
type Operator interface {
	// Depth returns the depth of a queue; zero for a queue that does not exist.
	Depth(ctx context.Context, queue Address) (Depth, error)
	// Purge drops the waiting envelopes of a queue, and returns their number. On some buses it
	// drops held ones as well.
	Purge(ctx context.Context, queue Address) (int64, error)
}

// Durability is optionally implemented by a bus, to report whether its queues are durable.
type Durability interface {
	// Durable reports whether queues survive the end of all processes but the broker's own.
	Durable() bool
}

// Connection is the state of the connection to the broker.
type Connection struct {
	// Up is set while the bus is connected.
	Up bool
	// Since is when that began; zero if it is not known.
	Since time.Time
	// Reason is the reason of a disconnection, for operators. It may be empty, and contains no
	// secrets.
	Reason string
}

// Monitor is optionally implemented by a bus, to report its connection. The method does not
// block.
type Monitor interface {
	Connection() Connection
}

// The errors of buses.
var (
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("bus is closed")
	// ErrInvalid is returned for an invalid address or envelope.
	ErrInvalid = errors.New("not valid on the bus")
	// ErrTooLarge is returned for an envelope that is larger than MaxEnvelope, or than the
	// limit of the broker.
	ErrTooLarge = errors.New("envelope is too large")
	// ErrFull is returned if the broker accepts nothing more, because its disk or a limit is
	// full. It comes with ErrUnknown if the envelope may still wait to be accepted.
	ErrFull = errors.New("the broker accepts no more messages")
	// ErrUnavailable is returned if the broker cannot be reached. The envelope was not
	// published.
	ErrUnavailable = errors.New("broker is not reachable")
	// ErrUnknown is returned if the bus cannot know whether the broker has accepted the
	// envelope.
	ErrUnknown = errors.New("it is unknown whether the broker accepted it")
)
