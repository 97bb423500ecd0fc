package amqpbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/internal/bus"
)

// topics is the exchange of all topics: its routing keys are their names.
const topics = "parley.topics"

// delays are the possible times before a message returns to its queue. Each has an exchange and
// a queue of the same name. Names of the bus have no colon.
var delays = []time.Duration{
	100 * time.Millisecond, time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute,
}

// delayFor returns the shortest of the delays that is not below d, or the longest.
func delayFor(d time.Duration) time.Duration {
	for _, one := range delays {
		if d <= one {
			return one
		}
	}
	return delays[len(delays)-1]
}

func delayName(d time.Duration) string { return "parley:delay:" + d.String() }

// declares returns the name of the exchange or queue that must exist before m is published.
func (m *message) declares() string {
	if m.exchange != "" {
		return m.exchange
	}
	return m.to.Name
}

// declare ensures that the target of m exists: once for each connection. It uses the connection
// that does not publish, which the broker always reads.
//
// The queue of another system is declared each time: if another queue, such as a logger's,
// accepts the message, the broker does not return it, and the loss of the queue would go
// unnoticed.
func (b *Bus) declare(ctx context.Context, m *message) error {
	name := m.declares()
	if b.declared.has(name) && m.waits == nil {
		return nil
	}
	in, err := b.in.session(ctx)
	if err != nil {
		return err
	}
	err = in.call(ctx, func(ch *amqp.Channel) error {
		defer ch.Close()
		switch {
		case m.foreign != nil:
			err := m.foreign.declare(in, ch, nil)
			if err == nil && m.waits != nil {
				err = m.foreign.declareOnly(in, ch, m.waits)
			}
			return err
		case m.exchange == topics:
			return declareTopics(ch)
		case m.exchange != "":
			return declareDelay(ch, m.exchange, m.delay)
		}
		return b.declareQueue(in, name)
	})
	if err != nil {
		return unavailable(err)
	}
	b.declared.add(name)
	return nil
}

func declareTopics(ch *amqp.Channel) error {
	if err := ch.ExchangeDeclare(topics, amqp.ExchangeTopic, true, false, false, false, nil); err != nil {
		return fmt.Errorf("declare exchange %s: %w", topics, err)
	}
	return nil
}

// unavailable converts an error of the broker to bus.ErrUnavailable, unless the connection is
// lost or it is one of the bus already.
func unavailable(err error) error {
	switch {
	case errors.Is(err, errLost), errors.Is(err, bus.ErrUnavailable), errors.Is(err, bus.ErrClosed):
		return err
	case errors.Is(err, amqp.ErrClosed):
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return fmt.Errorf("%w: %w", bus.ErrUnavailable, err)
}

// declareQueue declares a queue, and the queue of the dead letters before it.
func (b *Bus) declareQueue(s *session, name string) error {
	for _, name := range []string{bus.Dead.Name, name} {
		if b.declared.has(name) {
			continue
		}
		if err := s.declareQueue(name, arguments(name)); err != nil {
			return fmt.Errorf("declare queue %s: %w", name, err)
		}
		b.declared.add(name)
	}
	return nil
}

// declareQueue declares a queue. An existing one with other arguments stays unchanged, because
// an operator may have chosen them.
func (s *session) declareQueue(name string, args amqp.Table) error {
	ch, err := s.conn.Channel()
	if err != nil {
		return err
	}
	defer ch.Close()
	_, err = ch.QueueDeclare(name, true, false, false, false, args)
	var e *amqp.Error
	if errors.As(err, &e) && e.Code == amqp.PreconditionFailed {
		_, err = s.passive(name)
	}
	return err
}

// passive looks up a queue, on a channel of its own: the broker closes the channel if the queue
// does not exist.
func (s *session) passive(name string) (amqp.Queue, error) {
	ch, err := s.conn.Channel()
	if err != nil {
		return amqp.Queue{}, err
	}
	defer ch.Close()
	return ch.QueueDeclarePassive(name, true, false, false, false, nil)
}

// noLimit is a number of deliveries that is never reached. For queues without a limit, RabbitMQ
// 4 applies one of its own, beyond which a message is lost.
const noLimit = 1 << 30

// brokerLimit is the number of returns after which the broker itself moves a message to Dead.
// It protects against receivers that do not count deliveries. This package counts to
// MaxDeliveries, and unlike the broker it waits for a confirm when it moves a message.
const brokerLimit = 4 * bus.MaxDeliveries

// arguments returns the arguments of a queue.
func arguments(name string) amqp.Table {
	if name == bus.Dead.Name {
		return amqp.Table{amqp.QueueTypeArg: amqp.QueueTypeQuorum, "x-delivery-limit": noLimit}
	}
	return amqp.Table{
		amqp.QueueTypeArg: amqp.QueueTypeQuorum, "x-delivery-limit": brokerLimit,
		"x-dead-letter-exchange": "", "x-dead-letter-routing-key": bus.Dead.Name,
	}
}

// delayArguments returns the arguments of a delay queue. After d its messages move to the queue
// that is their routing key. The broker removes them when that queue has confirmed.
func delayArguments(d time.Duration) amqp.Table {
	return amqp.Table{
		amqp.QueueTypeArg: amqp.QueueTypeQuorum, amqp.QueueMessageTTLArg: d.Milliseconds(),
		"x-dead-letter-exchange": "", "x-dead-letter-strategy": "at-least-once",
		amqp.QueueOverflowArg: amqp.QueueOverflowRejectPublish,
	}
}

// declareDelay declares a queue for messages that are to be redelivered after d.
func declareDelay(ch *amqp.Channel, name string, d time.Duration) error {
	if err := ch.ExchangeDeclare(name, amqp.ExchangeFanout, true, false, false, false, nil); err != nil {
		return fmt.Errorf("declare exchange %s: %w", name, err)
	}
	if _, err := ch.QueueDeclare(name, true, false, false, false, delayArguments(d)); err != nil {
		return fmt.Errorf("declare queue %s: %w", name, err)
	}
	return ch.QueueBind(name, "", name, false, nil)
}
