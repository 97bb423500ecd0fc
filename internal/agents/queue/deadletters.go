package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/task"
)

// Defaults of a Collector.
const (
	DefaultLetters = 1000
	DefaultBytes   = 64 << 20
	DefaultAge     = 30 * 24 * time.Hour
)

// sweepEvery is the time between two sweeps by age.
const sweepEvery = time.Hour

// retryDelay is the wait after which a letter that could not be stored is redelivered.
const retryDelay = 5 * time.Second

// DeadLetters stores the envelopes that arrive at bus.Dead. Bus and Store are required. Fields
// must not change once it is in use; it is safe for concurrent use.
type DeadLetters struct {
	Bus   bus.Bus
	Store LetterStore
	// Signer signs the hub's own envelopes when they are replayed, and identifies the hub. If
	// nil, all letters count as the hub's own, and nothing is signed.
	Signer *bus.Signer
	// Undelivered is called with work of the hub that will not be executed, once its letter is
	// stored. After an error it is called again. If nil, the tasks of such work are not
	// notified.
	Undelivered func(ctx context.Context, e *bus.Envelope) error
	// Stored is called with each new letter. It must return at once. It may be nil.
	Stored func(*Letter)
	// MaxLetters, MaxBytes and MaxAge bound the stored letters; zero means the defaults.
	MaxLetters int
	MaxBytes   int
	MaxAge     time.Duration
	// Logger gets a record for each letter. If nil, nothing is logged.
	Logger *slog.Logger
}

func (c *DeadLetters) logger() *slog.Logger {
	if c.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Logger
}

// hub returns the id of the hub; empty if it has none.
func (c *DeadLetters) hub() string {
	if c.Signer == nil {
		return ""
	}
	return c.Signer.Hub()
}

// deadQueue returns the queue of a hub's dead letters.
func deadQueue(hub string) bus.Address { return bus.Queue("hub.dead." + hub) }

// Run receives until ctx ends. It returns an error only if the bus fails permanently.
func (c *DeadLetters) Run(ctx context.Context) error {
	at := []bus.Address{bus.Dead}
	if hub := c.hub(); hub != "" {
		at = append(at, deadQueue(hub))
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, a := range at {
		group.Go(func() error { return c.receive(ctx, a) })
	}
	group.Go(func() error {
		c.runSweeps(ctx)
		return nil
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	return nil
}

func (c *DeadLetters) runSweeps(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := c.sweep(ctx); err != nil && ctx.Err() == nil {
			c.logger().Error("sweep dead letters", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (c *DeadLetters) receive(ctx context.Context, at bus.Address) error {
	for got, err := range c.Bus.Receive(ctx, bus.Subscription{At: at}) {
		if err != nil {
			return err
		}
		if err := c.handle(ctx, got.Envelope); err != nil {
			c.logger().Error("store dead letter", "queue", got.Queue, "envelope", got.ID, "error", err)
			_ = got.Nak(ctx, retryDelay) // it is redelivered in any case
			continue
		}
		if err := got.Ack(ctx); err != nil && ctx.Err() == nil {
			c.logger().Warn("acknowledge dead letter", "envelope", got.ID, "error", err)
		}
	}
	return nil
}

// handle stores a dead envelope, or passes it to the hub to which it belongs.
func (c *DeadLetters) handle(ctx context.Context, e *bus.Envelope) error {
	dead := opened(e)
	if hub, own := hubOf(dead), c.hub(); hub != "" && own != "" && hub != own {
		return c.Bus.Publish(ctx, deadQueue(hub), e)
	}
	l, err := LetterOf(e, time.Now())
	if err != nil {
		return err
	}
	if err := c.Store.PutLetter(ctx, l); err != nil {
		return err
	}
	c.logger().Warn("an envelope could not be delivered; see parley dead list", "letter", l.ID, "queue", l.Queue,
		"type", l.Type, "task", l.Task, "reason", l.Reason)
	if c.Stored != nil {
		c.Stored(l)
	}
	if err := c.sweep(ctx); err != nil {
		return err
	}
	if dead.Type != protocol.TypeWork || c.Undelivered == nil {
		return nil
	}
	if err := c.verify(dead); err != nil {
		c.logger().Warn("dead work is not from this hub: its task continues", "letter", l.ID, "task", l.Task, "error", err)
		return nil
	}
	return c.Undelivered(ctx, dead)
}

// opened returns the envelope in the bytes that a receiver of another version could not read; else e.
func opened(e *bus.Envelope) *bus.Envelope {
	var u bus.Unreadable
	if e.Type != bus.TypeUnreadable || protocol.Decode(e.Body, &u) != nil {
		return e
	}
	dead, err := bus.Decode(u.Bytes)
	if err != nil && !older(dead) {
		return e
	}
	if dead.Reason == "" {
		dead.Reason, dead.Queue = e.Reason, e.Queue
	}
	return opened(dead) // an older receiver sends an envelope of its own version
}

// older reports whether an envelope has an older version than this program.
func older(e *bus.Envelope) bool { return e.Version > 0 && e.Version < bus.Version }

// verify returns an error if an envelope claims to be from this hub without its signature.
// Every client of the broker may be able to publish at Dead.
func (c *DeadLetters) verify(e *bus.Envelope) error {
	if c.Signer == nil || e.Source != "hub/"+c.hub() {
		return nil
	}
	ring, err := bus.NewKeyring(c.Signer.HubKey())
	if err != nil {
		return err
	}
	return ring.Verify(e)
}

// hubOf returns the hub to which an envelope belongs, or "".
func hubOf(e *bus.Envelope) string {
	for _, at := range []string{protocol.ReportAt("").Name, deadQueue("").Name} {
		if hub, ok := strings.CutPrefix(e.Queue, at); ok {
			return hub
		}
	}
	if hub, ok := strings.CutPrefix(e.Source, "hub/"); ok && bus.Queue(hub).Check() == nil {
		return hub
	}
	return ""
}

// sweep drops letters beyond the bounds.
func (c *DeadLetters) sweep(ctx context.Context) error {
	n, err := c.Store.SweepLetters(ctx, LetterBounds{
		Letters: cmp.Or(c.MaxLetters, DefaultLetters), Bytes: cmp.Or(c.MaxBytes, DefaultBytes),
		Before: time.Now().Add(-cmp.Or(c.MaxAge, DefaultAge)),
	})
	if n > 0 {
		c.logger().Warn("dropped old dead letters", "count", n)
	}
	return err
}

// The reasons why a letter cannot be replayed.
var (
	// ErrUnreadable is returned if the letter holds no envelope.
	ErrUnreadable = errors.New("it is not an envelope")
	// ErrForged is returned if the envelope claims to be from this hub without its signature.
	ErrForged = errors.New("it claims to be from this hub but is not")
	// ErrNoQueue is returned if the letter's former queue is unknown.
	ErrNoQueue = errors.New("the queue that it was in is unknown")
)

// Replay publishes a letter again at its former queue, with a new id, and drops it. The error
// is ErrNoLetter, ErrUnreadable, ErrForged, ErrNoQueue, or one of the store or the bus.
func (c *DeadLetters) Replay(ctx context.Context, id LetterID) (*Letter, error) {
	l, err := c.Store.Letter(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	if l.Type == string(bus.TypeUnreadable) {
		return nil, fmt.Errorf("replay %s: %w", id, ErrUnreadable)
	}
	e, err := bus.Decode(l.Envelope)
	if err != nil && !older(e) { // work and reports of version 1 are those of version 2
		return nil, fmt.Errorf("replay %s: %w: %w", id, ErrUnreadable, err)
	}
	if err := c.verify(e); err != nil {
		return nil, fmt.Errorf("replay %s: %w: %w", id, ErrForged, err)
	}
	to := bus.Queue(l.Queue)
	if to.Check() != nil || to == bus.Dead {
		return nil, fmt.Errorf("replay %s: %w", id, ErrNoQueue)
	}
	e.ID, e.Reason, e.Queue, e.Time = uuid.NewString(), "", "", task.MillisOf(time.Now())
	if err := c.publish(ctx, to, e); err != nil {
		return nil, fmt.Errorf("replay %s: %w", id, err)
	}
	return l, c.Drop(ctx, id)
}

// publish signs the hub's own envelopes again, because the old signature covers the old id.
func (c *DeadLetters) publish(ctx context.Context, to bus.Address, e *bus.Envelope) error {
	if hub := c.hub(); hub != "" && e.Source == "hub/"+hub {
		if err := c.Signer.Sign(e); err != nil {
			return err
		}
	}
	return c.Bus.Publish(ctx, to, e)
}

// Drop deletes a letter. The error is ErrNoLetter if it does not exist.
func (c *DeadLetters) Drop(ctx context.Context, id LetterID) error {
	if err := c.Store.DropLetter(ctx, id); err != nil {
		return fmt.Errorf("drop: %w", err)
	}
	return nil
}
