package amqpbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/bus"
)

// topics is the exchange of all topics: its routing keys are their names.
const topics = "parley.topics"

// delays are the times for which a queue can be left before a message comes back to it.
// Each has an exchange and a queue of the same name. Names of the bus have no colon.
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

// declares names what must be there before m is published.
func (m *message) declares() string {
	if m.exchange != "" {
		return m.exchange
	}
	return m.to.Name
}

// declare makes sure that what m goes to is there: once for each connection. It is asked
// for on the connection that does not publish, which the broker always reads.
//
// The queue of another system is declared each time: a message that nothing but a logger's
// queue takes is not returned, so that the loss of the queue would not be noticed.
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
				err = m.foreign.declareAlone(in, ch, m.waits)
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

// unavailable makes bus.ErrUnavailable of an error of the broker, unless the connection is
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

// declareQueue declares a queue, and that of the dead letters before it.
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

// declareQueue declares a queue. One that is there with other arguments stays as it is: an
// operator may have reasons.
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

// passive looks for a queue, on a channel of its own: the broker closes that if there is
// none.
func (s *session) passive(name string) (amqp.Queue, error) {
	ch, err := s.conn.Channel()
	if err != nil {
		return amqp.Queue{}, err
	}
	defer ch.Close()
	return ch.QueueDeclarePassive(name, true, false, false, false, nil)
}

// noLimit is a number of deliveries that nobody reaches. RabbitMQ 4 has a limit of its own
// for queues that have none, above which a message is gone.
const noLimit = 1 << 30

// brokerLimit is how often the broker takes a message back before it moves it to Dead
// itself. It is for receivers that do not count: this package counts to MaxDeliveries, and
// has what it moves confirmed, which the broker has not.
const brokerLimit = 4 * bus.MaxDeliveries

// arguments are those of a queue.
func arguments(name string) amqp.Table {
	if name == bus.Dead.Name {
		return amqp.Table{amqp.QueueTypeArg: amqp.QueueTypeQuorum, "x-delivery-limit": noLimit}
	}
	return amqp.Table{
		amqp.QueueTypeArg: amqp.QueueTypeQuorum, "x-delivery-limit": brokerLimit,
		"x-dead-letter-exchange": "", "x-dead-letter-routing-key": bus.Dead.Name,
	}
}

// delayArguments are those of a queue whose messages go, when they have been there for d,
// to the queue that is their routing key. The broker drops them when that has confirmed.
func delayArguments(d time.Duration) amqp.Table {
	return amqp.Table{
		amqp.QueueTypeArg: amqp.QueueTypeQuorum, amqp.QueueMessageTTLArg: d.Milliseconds(),
		"x-dead-letter-exchange": "", "x-dead-letter-strategy": "at-least-once",
		amqp.QueueOverflowArg: amqp.QueueOverflowRejectPublish,
	}
}

// declareDelay declares a queue for messages that are to come back after d.
func declareDelay(ch *amqp.Channel, name string, d time.Duration) error {
	if err := ch.ExchangeDeclare(name, amqp.ExchangeFanout, true, false, false, false, nil); err != nil {
		return fmt.Errorf("declare exchange %s: %w", name, err)
	}
	if _, err := ch.QueueDeclare(name, true, false, false, false, delayArguments(d)); err != nil {
		return fmt.Errorf("declare queue %s: %w", name, err)
	}
	return ch.QueueBind(name, "", name, false, nil)
}
