package rockbotpeer

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
)

// The names and topics of RockBot's options.
const (
	Exchange      = "rockbot"
	DeadLetters   = "rockbot.dlx"
	StatusTopic   = "agent.task.status"
	AnnounceTopic = "discovery.announce"
	TaskTopic     = "agent.task."
	CancelTopic   = "agent.task.cancel."
	ReplyTopic    = "agent.response."
)

// patience is the time limit of a peer that waits for a message.
const patience = 4 * time.Minute

// Envelope is RockBot's MessageEnvelope as its subscriber maps a delivery.
type Envelope struct {
	MessageID, Type, CorrelationID, ReplyTo string
	// Source is the header rb-source, "unknown" without one.
	Source string
	// Headers are the text headers that begin with rb-, without that prefix.
	Headers map[string]string
	// Topic is the routing key, which RockBot's envelope does not have.
	Topic string
	Body  []byte
}

// conn is a connection of one process of RockBot.
type conn struct {
	tb   testing.TB
	name string
	conn *amqp.Connection

	mu sync.Mutex // guards the field below, on which messages are published
	ch *amqp.Channel

	owned sync.WaitGroup
	end   func()
}

// dial connects a process whose AgentIdentity is name.
func dial(tb testing.TB, url, name string) *conn {
	tb.Helper()
	c := &conn{tb: tb, name: name}
	var err error
	if c.conn, err = amqp.Dial(url); err != nil {
		tb.Fatalf("%s: connect: %v", name, err)
	}
	if c.ch, err = c.conn.Channel(); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	for _, x := range []string{Exchange, DeadLetters} {
		if err := c.ch.ExchangeDeclare(x, amqp.ExchangeTopic, true, false, false, false, nil); err != nil {
			tb.Fatalf("%s: declare exchange: %v", name, err)
		}
	}
	c.end = sync.OnceFunc(func() {
		_ = c.conn.Close() // the broker may be down
		c.owned.Wait()
	})
	tb.Cleanup(c.end)
	return c
}

// dlqArguments are the retention caps of RabbitMqDlqRetentionOptions.
func dlqArguments() amqp.Table {
	return amqp.Table{
		"x-message-ttl": int64(259_200_000), "x-max-length": int64(10_000),
		"x-max-length-bytes": int64(256 << 20), "x-overflow": "drop-head",
	}
}

// QueueOf returns the queue of an agent that subscribes to a topic.
func QueueOf(agent, topic string) string {
	return "rockbot." + agent + "." + strings.ReplaceAll(topic, ".", "-")
}

// subscribe declares the same objects as RabbitMqSubscriber and calls handle for each delivery,
// one after the other. If handle returns an error, the delivery is dead-lettered.
func (c *conn) subscribe(queue, topic string, handle func(*Envelope) error) {
	c.tb.Helper()
	dlq := queue + ".dlq"
	err := c.redeclare(dlq, dlqArguments(), true)
	if err == nil {
		err = c.bind(dlq, topic, DeadLetters)
	}
	if err == nil {
		err = c.redeclare(queue, amqp.Table{"x-dead-letter-exchange": DeadLetters, "x-dead-letter-routing-key": topic}, false)
	}
	if err == nil {
		err = c.bind(queue, topic, Exchange)
	}
	if err == nil {
		err = c.consume(queue, handle)
	}
	if err != nil {
		c.tb.Fatalf("%s: subscribe to %s: %v", c.name, topic, err)
	}
}

// redeclare declares a queue. A queue with other arguments is deleted with its messages and
// declared again. If ifEmpty is set, a queue with messages is not deleted, so that no dead
// letter is lost.
func (c *conn) redeclare(queue string, args amqp.Table, ifEmpty bool) error {
	declare := func() error {
		return c.within(func(ch *amqp.Channel) error {
			_, err := ch.QueueDeclare(queue, true, false, false, false, args)
			return err
		})
	}
	err := declare()
	if e := new(amqp.Error); !errors.As(err, &e) || e.Code != amqp.PreconditionFailed {
		return err
	}
	c.tb.Logf("%s: queue %s has stale arguments, deleting and recreating: %v", c.name, queue, err)
	err = c.within(func(ch *amqp.Channel) error {
		_, err := ch.QueueDelete(queue, false, ifEmpty, false)
		return err
	})
	if err != nil {
		return err
	}
	return declare()
}

func (c *conn) bind(queue, topic, exchange string) error {
	return c.within(func(ch *amqp.Channel) error { return ch.QueueBind(queue, topic, exchange, false, nil) })
}

// within runs f on a new channel, because an error of the broker closes the channel.
func (c *conn) within(f func(*amqp.Channel) error) error {
	ch, err := c.conn.Channel()
	if err != nil {
		return err
	}
	defer ch.Close()
	return f(ch)
}

func (c *conn) consume(queue string, handle func(*Envelope) error) error {
	ch, err := c.conn.Channel()
	if err != nil {
		return err
	}
	if err := ch.Qos(10, 0, false); err != nil {
		return err
	}
	deliveries, err := ch.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	c.owned.Go(func() {
		for d := range deliveries {
			if err := handle(envelopeOf(&d)); err != nil {
				c.tb.Logf("%s: error processing message %d: %v", c.name, d.DeliveryTag, err)
				_ = d.Nack(false, false) // the connection may be closed
				continue
			}
			_ = d.Ack(false)
		}
	})
	return nil
}

// envelopeOf maps a delivery like MapToEnvelope.
func envelopeOf(d *amqp.Delivery) *Envelope {
	e := &Envelope{
		MessageID: d.MessageId, Type: d.Type, CorrelationID: d.CorrelationId, ReplyTo: d.ReplyTo,
		Source: "unknown", Headers: map[string]string{}, Topic: d.RoutingKey, Body: d.Body,
	}
	for name, v := range d.Headers {
		text, ok := v.(string)
		if name, isOurs := strings.CutPrefix(name, "rb-"); ok && isOurs {
			e.Headers[name] = text
		}
	}
	if s, ok := e.Headers["source"]; ok {
		e.Source = s
	}
	delete(e.Headers, "source")
	delete(e.Headers, "destination")
	return e
}

// Wire is a message to publish, without any checks.
type Wire struct {
	Topic, Type, CorrelationID, ReplyTo string
	Body                                []byte
	// Headers are added to rb-source.
	Headers map[string]string
	// Source is rb-source; "" is the name of the peer.
	Source string
}

// publish publishes a message like RabbitMqPublisher.
func (c *conn) publish(w *Wire) error {
	source := w.Source
	if source == "" {
		source = c.name
	}
	headers := amqp.Table{"rb-source": source}
	for name, v := range w.Headers {
		headers["rb-"+name] = v
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.ch.Publish(Exchange, w.Topic, false, false, amqp.Publishing{
		MessageId: strings.ReplaceAll(uuid.NewString(), "-", ""), Type: w.Type, CorrelationId: w.CorrelationID, ReplyTo: w.ReplyTo,
		Timestamp: time.Now().UTC().Truncate(time.Second), ContentType: "application/json", DeliveryMode: amqp.Persistent,
		Headers: headers, Body: w.Body,
	})
	if err != nil {
		return fmt.Errorf("%s: publish at %s: %w", c.name, w.Topic, err)
	}
	return nil
}

// send publishes a record in its envelope.
func (c *conn) send(topic, correlation, replyTo string, rec record) error {
	return c.publish(&Wire{Topic: topic, Type: rec.typeName(), CorrelationID: correlation, ReplyTo: replyTo, Body: Encode(rec)})
}

// Depth returns the number of messages in a queue. A missing queue is an error.
func (c *conn) Depth(queue string) (n int, err error) {
	err = c.within(func(ch *amqp.Channel) error {
		q, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
		n = q.Messages
		return err
	})
	return n, err
}
