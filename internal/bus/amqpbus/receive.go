package amqpbus

import (
	"context"
	"fmt"
	"iter"
	"math"
	"sync"
	"sync/atomic"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/internal/bus"
)

// The limits of the broker's queue for a slow listener at a topic. The broker drops the oldest
// messages first.
const (
	maxWaiting      = 4096
	maxWaitingBytes = 8 << 20
	// topicPrefetch is the number of unacknowledged messages on their way to the listener.
	topicPrefetch = 64
)

// Receive implements bus.Bus. It ignores Subscription.Lease: the broker detects dead receivers.
func (b *Bus) Receive(ctx context.Context, s bus.Subscription) iter.Seq2[*bus.Delivery, error] {
	return func(yield func(*bus.Delivery, error) bool) {
		err := b.check(s.At)
		if err == nil {
			err = b.receive(ctx, s, yield)
		}
		if err != nil && ctx.Err() == nil {
			yield(nil, fmt.Errorf("receive at %s: %w", s.At, err))
		}
	}
}

// receive yields deliveries, over as many connections as that takes. It returns nil when the
// loop is left.
func (b *Bus) receive(ctx context.Context, s bus.Subscription, yield func(*bus.Delivery, error) bool) error {
	ctx, cancel := b.withBus(ctx, func() {})
	r := &receiver{bus: b, s: s, arrivals: make(chan *held)}
	var owned sync.WaitGroup
	defer owned.Wait()
	defer cancel()
	done := make(chan error, 1)
	owned.Go(func() { done <- r.run(ctx) })
	for {
		select {
		case h := <-r.arrivals:
			if !h.deliver(ctx, yield) {
				return nil
			}
		case err := <-done:
			return err
		}
	}
}

// receiver is a call of Receive. Its goroutine resubscribes even while the loop is busy, so
// that a listener misses as little as possible.
type receiver struct {
	bus      *Bus
	s        bus.Subscription
	arrivals chan *held
	begin    func(*consumer) error // for an Exchange; otherwise nil
}

// run subscribes and resubscribes until ctx ends or the broker refuses.
func (r *receiver) run(ctx context.Context) error {
	for tries := 0; ctx.Err() == nil; tries++ {
		c, err := r.subscribe(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case permanent(err):
			return err
		case err != nil:
			r.bus.declared.forget(r.s.At.Name) // the queue may have been deleted
			r.bus.log().Warn("cannot receive from RabbitMQ", "at", r.s.At.String(), "error", err)
			pause(ctx, tries, nil)
			continue
		}
		tries = 0
		if r.s.Ready != nil {
			r.s.Ready()
		}
		c.serve(ctx, r.arrivals)
		c.end(ctx)
	}
	return context.Cause(ctx)
}

// consumer is a subscription on one connection.
type consumer struct {
	bus        *Bus
	session    *session
	at         bus.Address
	ch         *amqp.Channel
	deliveries <-chan amqp.Delivery
	lost       <-chan *amqp.Error // closed with the channel
	closed     atomic.Bool        // the loop was left
	foreign    bool               // of an Exchange, whose deliveries are not counted
	unreadable func(*bus.Envelope)
}

// consumerTag names the one consumer on its channel.
const consumerTag = "parley"

// subscribe starts a consumer on the current connection.
func (r *receiver) subscribe(ctx context.Context) (*consumer, error) {
	b, s := r.bus, r.s
	in, err := b.in.awaitSession(ctx)
	if err != nil {
		return nil, err
	}
	c := &consumer{bus: b, session: in, at: s.At, unreadable: s.Unreadable}
	err = in.call(ctx, func(ch *amqp.Channel) error {
		c.ch, c.lost = ch, ch.NotifyClose(make(chan *amqp.Error, 1))
		switch {
		case r.begin != nil:
			return r.begin(c)
		case s.At.Kind == bus.TopicKind:
			return c.listen()
		}
		return c.consume(min(max(s.Prefetch, 1), math.MaxUint16))
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (c *consumer) consume(prefetch int) error {
	if err := c.bus.declareQueue(c.session, c.at.Name); err != nil {
		return err
	}
	return c.begin(c.at.Name, prefetch)
}

// listen declares a queue that is exclusive to the listener and is deleted with it.
func (c *consumer) listen() error {
	if err := declareTopics(c.ch); err != nil {
		return err
	}
	q, err := c.ch.QueueDeclare("", false, true, true, false, amqp.Table{
		"x-max-length": maxWaiting, "x-max-length-bytes": maxWaitingBytes,
	})
	if err != nil {
		return err
	}
	if err := c.ch.QueueBind(q.Name, c.at.Name, topics, false, nil); err != nil {
		return err
	}
	return c.begin(q.Name, topicPrefetch)
}

func (c *consumer) begin(queue string, prefetch int) error {
	err := c.ch.Qos(prefetch, 0, false)
	if err == nil {
		c.deliveries, err = c.ch.Consume(queue, consumerTag, false, false, false, false, nil)
	}
	return err
}

// serve passes deliveries on, until the connection is lost or ctx ends.
func (c *consumer) serve(ctx context.Context, arrivals chan<- *held) {
	var unacked unacked
	for {
		d, ok := c.next(ctx, &unacked)
		if !ok {
			return
		}
		h := &held{consumer: c, d: d, number: numberOf(d)}
		select {
		case arrivals <- h:
		case <-c.lost:
			return
		case <-ctx.Done():
			h.requeueUncounted(ctx)
			return
		}
		if c.at.Kind == bus.TopicKind {
			unacked.add(d)
		}
	}
}

// next waits for a delivery. Deliveries of a topic are acknowledged before that wait, or when
// there are topicPrefetch/2 of them.
func (c *consumer) next(ctx context.Context, unacked *unacked) (*amqp.Delivery, bool) {
	if unacked.n > 0 && unacked.n < topicPrefetch/2 {
		select {
		case d, ok := <-c.deliveries:
			return &d, ok
		default:
		}
	}
	unacked.ack()
	select {
	case d, ok := <-c.deliveries:
		return &d, ok
	case <-ctx.Done():
		return nil, false
	}
}

// unacked counts the deliveries of a topic that are not acknowledged yet. One acknowledgement
// covers all of them, so that the broker sends more.
type unacked struct {
	last *amqp.Delivery
	n    int
}

func (h *unacked) add(d *amqp.Delivery) {
	h.last = d
	h.n++
}

func (h *unacked) ack() {
	if h.n > 0 {
		_ = h.last.Ack(true) // a topic may lose messages
	}
	*h = unacked{}
}

// deliver yields h, and returns the result of yield.
func (h *held) deliver(ctx context.Context, yield func(*bus.Delivery, error) bool) bool {
	c := h.consumer
	e, err := c.read(h.d)
	switch {
	case c.at.Kind == bus.TopicKind:
		if err != nil {
			c.bus.log().Warn("not an envelope", "at", c.at.String(), "error", err)
			if c.unreadable != nil {
				c.unreadable(e)
			}
			return true
		}
		return yield(&bus.Delivery{Envelope: e, At: c.at, Number: 1}, nil)
	case err != nil:
		h.reject(ctx, err.Error())
		return true
	case h.number > bus.MaxDeliveries && c.at != bus.Dead:
		h.reject(ctx, bus.TooOften(c.at))
		return true
	}
	return yield(&bus.Delivery{Envelope: e, At: c.at, Number: h.number, Settle: h.settle}, nil)
}

// read decodes a delivery. At bus.Dead every message is readable.
func (c *consumer) read(d *amqp.Delivery) (*bus.Envelope, error) {
	if c.at != bus.Dead {
		return bus.Decode(d.Body)
	}
	e := bus.ReadDead(d.Body)
	if from, why := deathOf(d.Headers); e.Reason == "" && why != "" {
		e.Reason, e.Queue = why, from.Name // the broker has moved it there
	}
	return e, nil
}

// reject moves a message that must not be delivered to Dead.
func (h *held) reject(ctx context.Context, reason string) {
	if err := h.deadLetter(ctx, reason); err != nil {
		h.consumer.bus.log().Warn("cannot move a message to Dead", "at", h.consumer.at.String(), "error", err)
	}
}

// end cancels the subscription. Prefetched messages are returned to the queue; delivered but
// unsettled ones are redelivered. If the connection is lost, the broker has done both already.
func (c *consumer) end(ctx context.Context) {
	c.closed.Store(true)
	if !c.ch.IsClosed() && c.ch.Cancel(consumerTag, false) == nil {
		for d := range c.deliveries { // closed by Cancel
			h := &held{consumer: c, d: &d, number: numberOf(&d)}
			h.requeueUncounted(ctx)
		}
	}
	_ = c.ch.Close() // the connection is lost, or it is closed
}

// requeueUncounted republishes h at the end of its queue, because the broker would count a
// returned message as delivered. If that fails, the broker returns it nevertheless.
func (h *held) requeueUncounted(ctx context.Context) {
	if h.consumer.foreign || h.consumer.at.Kind == bus.TopicKind || h.consumer.bus.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = h.republish(ctx, 0, h.number-1)
}

// The headers of messages. deliveriesHeader is set by the bus: the number of deliveries before
// the message was republished.
const (
	deliveriesHeader = "parley-deliveries"
	countHeader      = "x-delivery-count" // of quorum queues: how often it was returned
)

// numberOf returns the number of a delivery.
func numberOf(d *amqp.Delivery) int {
	return int(integer(d.Headers[deliveriesHeader])+integer(d.Headers[countHeader])) + 1
}

// integer returns the number in a header; 0 if it is none, at most MaxInt32.
func integer(v any) int64 {
	var n int64
	switch v := v.(type) {
	case int64:
		n = v
	case int32:
		n = int64(v)
	case int16:
		n = int64(v)
	case int8:
		n = int64(v)
	case uint8:
		n = int64(v)
	}
	return min(max(n, 0), math.MaxInt32)
}

// deathOf returns the queue from which the broker has moved a message to Dead, and the reason.
func deathOf(h amqp.Table) (from bus.Address, why string) {
	deaths, _ := h["x-death"].([]any)
	for _, one := range deaths { // the newest first
		death, _ := one.(amqp.Table)
		queue, _ := death["queue"].(string)
		switch reason, _ := death["reason"].(string); reason {
		case "expired":
			continue // a delay is over
		case "delivery_limit":
			return bus.Queue(queue), "redelivered by the broker too often"
		default:
			return bus.Queue(queue), "broker: " + reason
		}
	}
	return bus.Address{}, ""
}
