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
	// Publish hands e over. At a queue it returns nil once the bus keeps the envelope as
	// well as it keeps anything (a confirm of the broker); at a topic, once it is on its
	// way. An error that is ErrUnknown means that the envelope may have been taken: it may
	// be published again with the same ID. e must not change until Publish returns.
	Publish(ctx context.Context, to Address, e *Envelope) error
	// Receive yields what arrives at an address, until ctx ends or the loop is left. A
	// lost connection is mended in the meantime and not told. The error that it yields,
	// at most once and last, is one that does not go away by itself; the end of ctx is
	// none. What was yielded from a queue and is not settled when the loop is left comes
	// again, to this receiver or another one.
	Receive(ctx context.Context, s Subscription) iter.Seq2[*Delivery, error]
	// Close gives the connection up and waits for what it owns. Receive and Publish end
	// with ErrClosed then.
	Close() error
}

// Kind says how an address hands out what it gets.
type Kind uint8

const (
	// QueueKind keeps each envelope until one of its receivers has acknowledged it, also
	// while there is none.
	QueueKind Kind = iota + 1
	// TopicKind gives each envelope to all who receive at that moment, and keeps none. It may
	// be lost, and comes at most once.
	TopicKind
)

// Address is where envelopes are published and received. The zero Address is none.
type Address struct {
	Kind Kind
	// Name is made of words of a–z, A–Z, 0–9, "-" and "_", joined by dots; at most 200
	// bytes. It is the same on every bus.
	Name string
}

// Queue returns the address of a queue.
func Queue(name string) Address { return Address{QueueKind, name} }

// Topic returns the address of a topic.
func Topic(name string) Address { return Address{TopicKind, name} }

// String returns the kind and the name, for people.
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

// Check returns what is wrong with a.
func (a Address) Check() error {
	if a.Kind != QueueKind && a.Kind != TopicKind {
		return fmt.Errorf("address %q: kind is neither queue nor topic: %w", a.Name, ErrInvalid)
	}
	if len(a.Name) > MaxName {
		return fmt.Errorf("address %.20q…: name has %d bytes, more than %d: %w", a.Name, len(a.Name), MaxName, ErrInvalid)
	}
	for word := range strings.SplitSeq(a.Name, ".") {
		if !isWord(word) {
			return fmt.Errorf("address %q: a word of a name has letters, digits, - and _ only: %w", a.Name, ErrInvalid)
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

// Subscription says what Receive yields. At is required.
type Subscription struct {
	At Address
	// Prefetch is how many envelopes of a queue this receiver may hold that are not
	// settled. Zero means 1.
	Prefetch int
	// Lease is how long an envelope of a queue may be held without Delivery.Extend before
	// another receiver gets it; a bus that knows when a receiver dies may ignore it. Zero
	// means 30 s.
	Lease time.Duration
	// Ready, if set, is called when the receiver hears what is published from then on:
	// once at the beginning, and each time that a lost connection is mended. It is called
	// on any goroutine and must not block.
	Ready func()
}

// DefaultLease is the Lease of a Subscription without one.
const DefaultLease = 30 * time.Second

// MaxDeliveries is how often a queue hands out an envelope that nobody acknowledges. Then
// it is published at Dead with a Reason, and gone from its queue.
const MaxDeliveries = 5

// Dead is the queue of the envelopes that their own queue has given up. Envelope.Reason
// says why, Envelope.Queue which one it was; bytes that are no envelope come as one of
// TypeUnreadable. Dead has no MaxDeliveries: what is there stays until it is acknowledged.
// Who publishes something from there again gives it a new id.
var Dead = Queue("dead")

// Delivery is an envelope that has arrived. One of Ack, Nak and Bury must be called for
// each that comes from a queue; a second call does nothing, nor does one after the loop of
// Receive was left. At a topic they do nothing. After the lease has ended, Ack may still
// count or come too late: nobody is told.
type Delivery struct {
	*Envelope
	// At is where it has arrived.
	At Address
	// From is the agent whose worker has published it at a topic, if the broker vouches for
	// that: see job.CheckSender. It is empty if it vouches for nobody.
	From string
	// Number counts the deliveries of this envelope as far as the bus knows, from 1.
	Number int
	// Settle does what a Settlement says; the bus sets it. It is nil at a topic.
	Settle func(ctx context.Context, s Settlement) error
}

// Verdict is what becomes of a delivery.
type Verdict uint8

// The verdicts.
const (
	// Acked deliveries are done with.
	Acked Verdict = iota + 1
	// Refused deliveries come again, after Settlement.After; the last delivery that
	// MaxDeliveries allows goes to Dead.
	Refused
	// Extended deliveries get a whole lease again.
	Extended
	// Buried deliveries go to Dead at once, with Settlement.Reason. At Dead it is Refused.
	Buried
)

// Settlement is a Verdict with what belongs to it.
type Settlement struct {
	Verdict Verdict
	After   time.Duration
	Reason  string
}

// Ack says that the envelope is done with.
func (d *Delivery) Ack(ctx context.Context) error { return d.settle(ctx, Settlement{Verdict: Acked}) }

// Nak gives the envelope back: it is delivered again after some time, which is exact on
// no bus and counts towards MaxDeliveries.
func (d *Delivery) Nak(ctx context.Context, after time.Duration) error {
	return d.settle(ctx, Settlement{Verdict: Refused, After: after})
}

// Extend begins the lease anew.
func (d *Delivery) Extend(ctx context.Context) error {
	return d.settle(ctx, Settlement{Verdict: Extended})
}

// Bury moves the envelope to Dead.
func (d *Delivery) Bury(ctx context.Context, reason string) error {
	return d.settle(ctx, Settlement{Verdict: Buried, Reason: reason})
}

func (d *Delivery) settle(ctx context.Context, s Settlement) error {
	if d.Settle == nil {
		return nil
	}
	return d.Settle(ctx, s)
}

// Depth is how much a queue holds.
type Depth struct {
	// Ready envelopes wait for a receiver, Held ones are with one; it is 0 on a bus that
	// cannot tell.
	Ready, Held int64
	// Receivers are those that listen; one that holds all that it may need not count.
	Receivers int
}

// Operator is what a bus may offer to people who look after it.
type Operator interface {
	// Depth returns how much a queue holds; zero for a queue that does not exist.
	Depth(ctx context.Context, queue Address) (Depth, error)
	// Purge drops what waits in a queue, and returns how much that was. On some buses it
	// drops what is held as well.
	Purge(ctx context.Context, queue Address) (int64, error)
}

// Keeper is a bus that may outlive the process or forget with it.
type Keeper interface {
	// Keeps reports whether queues survive the end of all processes but the broker's own.
	Keeps() bool
}

// Connection is how a bus stands to its broker.
type Connection struct {
	// Up is set while there is a connection.
	Up bool
	// Since is when that began; zero if it is not known.
	Since time.Time
	// Reason says for people why there is none; it may be empty, and has nothing secret.
	Reason string
}

// Monitor is a bus that tells how it stands to its broker. It answers at once.
type Monitor interface {
	Connection() Connection
}

// The errors of buses.
var (
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("bus is closed")
	// ErrInvalid is about an address or an envelope that no bus takes.
	ErrInvalid = errors.New("not valid on the bus")
	// ErrTooLarge is about an envelope that is larger than MaxEnvelope, or than what the
	// broker takes.
	ErrTooLarge = errors.New("envelope is too large")
	// ErrFull is about a broker that takes nothing more: its disk or a limit is reached.
	// It comes with ErrUnknown if the envelope may lie before the broker's door.
	ErrFull = errors.New("broker takes nothing more")
	// ErrUnavailable is about a broker that cannot be reached. Nothing was published.
	ErrUnavailable = errors.New("broker is not reachable")
	// ErrUnknown means that it cannot be known whether an envelope was taken.
	ErrUnknown = errors.New("unknown whether the broker has taken it")
)
