package amqpbus

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/internal/bus"
)

// Exchange is a topic exchange of another system, whose messages are not envelopes of the bus.
// It shares the connections of a Bus. Fields must not change once it is in use.
type Exchange struct {
	// Bus is required.
	Bus *Bus
	// Name is the name of the exchange. Messages that its queues refuse go to the exchange
	// DeadLetters.
	Name, DeadLetters string
}

// Message is a message on an Exchange.
type Message struct {
	// Topic is the routing key.
	Topic string
	// ID, Type, Correlation and ReplyTo are properties of AMQP, of at most 255 bytes. Longer
	// ones are omitted.
	ID, Type, Correlation, ReplyTo string
	Time                           time.Time
	// Headers are those whose values are text.
	Headers map[string]string
	Body    []byte
}

// Queue is a durable queue that is bound to a topic. Its dead letters are kept in a queue with
// ".dlq" behind its name.
type Queue struct {
	Name, Topic string
	// More are further topics that the queue is bound to.
	More []string
	// Keep is the longest time for which a message waits in the queue; zero means no limit.
	Keep time.Duration
}

// Arrival is a received message. One of its methods must be called.
type Arrival struct {
	Message
	h *held
}

// Ack removes the message from its queue.
func (a *Arrival) Ack() error {
	if !a.h.settled.CompareAndSwap(false, true) {
		return nil
	}
	return a.h.brokerError(a.h.d.Ack(false))
}

// Refuse moves the message to the dead letters.
func (a *Arrival) Refuse() error {
	if !a.h.settled.CompareAndSwap(false, true) {
		return nil
	}
	return a.h.brokerError(a.h.d.Reject(false))
}

// Publish publishes m and waits until the broker has stored it; the errors are those of
// Bus.Publish. If waits is nil and no queue is bound to the topic of m, m is dropped. If waits
// is not nil, Publish first declares that queue, so that m waits in it. The queue of its dead
// letters is declared by its receiver alone.
func (x *Exchange) Publish(ctx context.Context, m *Message, waits *Queue) error {
	err := x.Bus.ready()
	if err == nil {
		err = x.Bus.send(ctx, x.outgoing(m, waits))
	}
	if err != nil {
		return fmt.Errorf("publish %q at %s: %w", m.ID, m.Topic, err)
	}
	return nil
}

// PublishTo publishes m in one queue, whatever its topics are, behind the messages that are in the
// queue. A restart of the broker drops m. If there is no such queue, m is dropped.
func (x *Exchange) PublishTo(ctx context.Context, queue string, m *Message) error {
	err := x.Bus.ready()
	if err == nil {
		out := x.outgoing(m, nil)
		out.to, out.exchange = bus.Queue(queue), ""
		out.properties.DeliveryMode = amqp.Transient
		err = x.Bus.send(ctx, out)
	}
	if err != nil {
		return fmt.Errorf("publish %q in %s: %w", m.ID, queue, err)
	}
	return nil
}

func (x *Exchange) outgoing(m *Message, waits *Queue) *message {
	headers := make(amqp.Table, len(m.Headers))
	for name, v := range m.Headers {
		headers[name] = v
	}
	return &message{
		to: bus.Queue(m.Topic), exchange: x.Name, foreign: x, waits: waits,
		properties: amqp.Publishing{
			ContentType: "application/json", DeliveryMode: amqp.Persistent, Body: m.Body, Headers: headers,
			MessageId: short(m.ID), Type: short(m.Type), CorrelationId: short(m.Correlation), ReplyTo: short(m.ReplyTo),
			Timestamp: m.Time,
		},
	}
}

// ready returns an error if b cannot be used.
func (b *Bus) ready() error { return b.check(bus.Dead) }

// Receive yields the messages of a queue, as Bus.Receive does. It declares the queue if it does
// not exist. At most prefetch arrivals are unsettled.
func (x *Exchange) Receive(ctx context.Context, q Queue, prefetch int) iter.Seq2[*Arrival, error] {
	return func(yield func(*Arrival, error) bool) {
		err := x.Bus.ready()
		if err == nil {
			err = x.receive(ctx, q, prefetch, yield)
		}
		if err != nil && ctx.Err() == nil {
			yield(nil, fmt.Errorf("receive at %s: %w", q.Name, err))
		}
	}
}

func (x *Exchange) receive(ctx context.Context, q Queue, prefetch int, yield func(*Arrival, error) bool) error {
	ctx, cancel := x.Bus.withBus(ctx, func() {})
	r := &receiver{bus: x.Bus, arrivals: make(chan *held), s: bus.Subscription{At: bus.Queue(q.Name)}}
	r.begin = func(c *consumer) error {
		c.foreign = true
		if err := x.declare(c.session, c.ch, &q); err != nil {
			return err
		}
		return c.begin(q.Name, prefetch)
	}
	var owned sync.WaitGroup
	defer owned.Wait()
	defer cancel()
	done := make(chan error, 1)
	owned.Go(func() { done <- r.run(ctx) })
	for {
		select {
		case h := <-r.arrivals:
			if !yield(&Arrival{incoming(h.d), h}, nil) {
				return nil
			}
		case err := <-done:
			return err
		}
	}
}

func incoming(d *amqp.Delivery) Message {
	m := Message{
		Topic: d.RoutingKey, ID: d.MessageId, Type: d.Type, Correlation: d.CorrelationId, ReplyTo: d.ReplyTo,
		Time: d.Timestamp, Headers: map[string]string{}, Body: d.Body,
	}
	for name, v := range d.Headers {
		switch v := v.(type) {
		case string:
			m.Headers[name] = v
		case []byte:
			m.Headers[name] = string(v)
		}
	}
	return m
}

// declare declares the exchanges, and q with its dead letters unless it is nil.
func (x *Exchange) declare(s *session, ch *amqp.Channel, q *Queue) error {
	for _, name := range []string{x.Name, x.DeadLetters} {
		if err := ch.ExchangeDeclare(name, amqp.ExchangeTopic, true, false, false, false, nil); err != nil {
			return fmt.Errorf("declare exchange %s: %w", name, err)
		}
	}
	if q == nil {
		return nil
	}
	dead := Queue{Name: q.Name + ".dlq", Topic: q.Topic}
	if err := s.declareBound(ch, dead, x.DeadLetters, nil); err != nil {
		return err
	}
	return x.declareOnly(s, ch, q)
}

// declareOnly declares q without its dead letters.
func (x *Exchange) declareOnly(s *session, ch *amqp.Channel, q *Queue) error {
	args := amqp.Table{"x-dead-letter-exchange": x.DeadLetters, "x-dead-letter-routing-key": q.Topic}
	if q.Keep > 0 {
		args["x-message-ttl"] = q.Keep.Milliseconds()
		delete(args, "x-dead-letter-exchange") // an expired message is no dead letter
		delete(args, "x-dead-letter-routing-key")
	}
	return s.declareBound(ch, *q, x.Name, args)
}

// declareBound declares a queue and binds it. An existing one with other arguments stays
// unchanged.
func (s *session) declareBound(ch *amqp.Channel, q Queue, exchange string, args amqp.Table) error {
	if err := s.declareQueue(q.Name, args); err != nil {
		return fmt.Errorf("declare queue %s: %w", q.Name, err)
	}
	for _, topic := range append([]string{q.Topic}, q.More...) {
		if err := ch.QueueBind(q.Name, topic, exchange, false, nil); err != nil {
			return fmt.Errorf("bind queue %s: %w", q.Name, err)
		}
	}
	return nil
}

// Make declares queues with their dead letters, so that they keep messages from now on.
func (x *Exchange) Make(ctx context.Context, queues ...Queue) error {
	if err := x.Bus.ready(); err != nil {
		return err
	}
	ctx, cancel := x.Bus.withTimeout(ctx)
	defer cancel()
	for _, q := range queues {
		if err := x.make(ctx, &q); err != nil {
			return fmt.Errorf("make queue %s: %w", q.Name, err)
		}
	}
	return nil
}

// make declares a queue, and retries on a new connection if one is lost.
func (x *Exchange) make(ctx context.Context, q *Queue) error {
	for {
		in, err := x.Bus.in.session(ctx)
		if err != nil {
			return err
		}
		err = in.call(ctx, func(ch *amqp.Channel) error {
			defer ch.Close()
			return x.declare(in, ch, q)
		})
		if err == nil {
			return nil
		}
		if err = unavailable(err); !errors.Is(err, errLost) {
			return err
		}
	}
}
