package deadletter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/protocol"
	"github.com/parley-a2a/parley/task"
)

// Defaults of a Desk.
const (
	DefaultLetters = 1000
	DefaultBytes   = 64 << 20
	DefaultAge     = 30 * 24 * time.Hour
)

// sweepEvery is the time between two looks at the age of letters.
const sweepEvery = time.Hour

// again is how long a letter waits that could not be dealt with.
const again = 5 * time.Second

// Desk writes down what arrives at bus.Dead. Bus and Book are required.
type Desk struct {
	Bus  bus.Bus
	Book Store
	// Signer vouches for what the hub publishes again of its own. If nil, everything is
	// the hub's own, and nothing is signed.
	Signer *bus.Signer
	// Undelivered is called with work of the hub that will not be executed, once its letter
	// is in the book. After an error it is called again. If nil, nobody is told.
	Undelivered func(ctx context.Context, e *bus.Envelope) error
	// MaxLetters, MaxBytes and MaxAge bound what is kept; zero means the defaults.
	MaxLetters int
	MaxBytes   int
	MaxAge     time.Duration
	// Logger is told of letters. If nil, nobody is.
	Logger *slog.Logger
}

func (d *Desk) logger() *slog.Logger {
	if d.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return d.Logger
}

// hub returns the id of the hub; empty if it has none.
func (d *Desk) hub() string {
	if d.Signer == nil {
		return ""
	}
	return d.Signer.Hub()
}

// ownDead is the queue of what has died of a hub.
func ownDead(hub string) bus.Address { return bus.Queue("hub.dead." + hub) }

// Run receives until ctx ends. It returns an error only if the bus does not work for good.
func (d *Desk) Run(ctx context.Context) error {
	at := []bus.Address{bus.Dead}
	if hub := d.hub(); hub != "" {
		at = append(at, ownDead(hub))
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, a := range at {
		group.Go(func() error { return d.receive(ctx, a) })
	}
	group.Go(func() error {
		d.keepSweeping(ctx)
		return nil
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	return nil
}

func (d *Desk) keepSweeping(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := d.sweep(ctx); err != nil && ctx.Err() == nil {
			d.logger().Error("sweep dead letters", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (d *Desk) receive(ctx context.Context, at bus.Address) error {
	for got, err := range d.Bus.Receive(ctx, bus.Subscription{At: at}) {
		if err != nil {
			return err
		}
		if err := d.take(ctx, got.Envelope); err != nil {
			d.logger().Error("write down dead letter", "queue", got.Queue, "envelope", got.ID, "error", err)
			_ = got.Nak(ctx, again) // it comes again anyhow
			continue
		}
		if err := got.Ack(ctx); err != nil && ctx.Err() == nil {
			d.logger().Warn("acknowledge dead letter", "envelope", got.ID, "error", err)
		}
	}
	return nil
}

// take deals with an envelope that is dead.
func (d *Desk) take(ctx context.Context, e *bus.Envelope) error {
	if hub, own := hubOf(e), d.hub(); hub != "" && own != "" && hub != own {
		return d.Bus.Publish(ctx, ownDead(hub), e)
	}
	l, err := Of(e, time.Now())
	if err != nil {
		return err
	}
	if err := d.Book.PutLetter(ctx, l); err != nil {
		return err
	}
	d.logger().Warn("an envelope could not be delivered; see parley dead list", "letter", l.ID, "queue", l.Queue,
		"type", l.Type, "task", l.Task, "reason", l.Reason)
	if err := d.sweep(ctx); err != nil {
		return err
	}
	if e.Type != protocol.TypeWork || d.Undelivered == nil {
		return nil
	}
	if err := d.verify(e); err != nil {
		d.logger().Warn("dead work is not from this hub: its task goes on", "letter", l.ID, "task", l.Task, "error", err)
		return nil
	}
	return d.Undelivered(ctx, e)
}

// verify refuses what says that it is from this hub, and is not: whoever may bury may put
// anything at Dead.
func (d *Desk) verify(e *bus.Envelope) error {
	if d.Signer == nil || e.Source != "hub/"+d.hub() {
		return nil
	}
	ring, err := bus.NewKeyring(d.Signer.HubKey())
	if err != nil {
		return err
	}
	return ring.Verify(e)
}

// hubOf returns the hub that an envelope is about, or nothing.
func hubOf(e *bus.Envelope) string {
	for _, at := range []string{protocol.ReportAt("").Name, ownDead("").Name} {
		if hub, ok := strings.CutPrefix(e.Queue, at); ok {
			return hub
		}
	}
	if hub, ok := strings.CutPrefix(e.Source, "hub/"); ok && bus.Queue(hub).Check() == nil {
		return hub
	}
	return ""
}

// sweep drops what is outside of the bounds.
func (d *Desk) sweep(ctx context.Context) error {
	b := Bounds{Letters: d.MaxLetters, Bytes: d.MaxBytes}
	if b.Letters == 0 {
		b.Letters = DefaultLetters
	}
	if b.Bytes == 0 {
		b.Bytes = DefaultBytes
	}
	age := d.MaxAge
	if age == 0 {
		age = DefaultAge
	}
	b.Before = time.Now().Add(-age)
	n, err := d.Book.SweepLetters(ctx, b)
	if n > 0 {
		d.logger().Warn("dropped old dead letters", "count", n)
	}
	return err
}

// What cannot be replayed.
var (
	// ErrUnreadable: what was in the queue was no envelope.
	ErrUnreadable = errors.New("it is no envelope")
	// ErrForged: it says that it is from this hub, which has not signed it.
	ErrForged = errors.New("it is not from this hub, although it says so")
	// ErrNoQueue: nobody knows where it was.
	ErrNoQueue = errors.New("the queue that it was in is not known")
)

// Replay publishes a letter again at the queue that it was in, with a new id, and drops
// it. It is ErrNoLetter, ErrUnreadable, ErrForged, ErrNoQueue or an error of the bus.
func (d *Desk) Replay(ctx context.Context, id ID) (*Letter, error) {
	l, err := d.Book.Letter(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	if l.Type == string(bus.TypeUnreadable) {
		return nil, fmt.Errorf("replay %s: %w", id, ErrUnreadable)
	}
	e, err := bus.Decode(l.Envelope)
	if err != nil {
		return nil, fmt.Errorf("replay %s: %w: %w", id, ErrUnreadable, err)
	}
	if err := d.verify(e); err != nil {
		return nil, fmt.Errorf("replay %s: %w: %w", id, ErrForged, err)
	}
	to := bus.Queue(l.Queue)
	if to.Check() != nil || to == bus.Dead {
		return nil, fmt.Errorf("replay %s: %w", id, ErrNoQueue)
	}
	e.ID, e.Reason, e.Queue, e.Time = uuid.NewString(), "", "", task.MillisOf(time.Now())
	if err := d.publish(ctx, to, e); err != nil {
		return nil, fmt.Errorf("replay %s: %w", id, err)
	}
	return l, d.drop(ctx, id)
}

// publish signs what is the hub's own, because its signature was for another id.
func (d *Desk) publish(ctx context.Context, to bus.Address, e *bus.Envelope) error {
	if hub := d.hub(); hub != "" && e.Source == "hub/"+hub {
		if err := d.Signer.Sign(e); err != nil {
			return err
		}
	}
	return d.Bus.Publish(ctx, to, e)
}

// Drop forgets a letter. It is ErrNoLetter if it is not there.
func (d *Desk) Drop(ctx context.Context, id ID) error { return d.drop(ctx, id) }

func (d *Desk) drop(ctx context.Context, id ID) error {
	if err := d.Book.DropLetter(ctx, id); err != nil {
		return fmt.Errorf("drop: %w", err)
	}
	return nil
}
