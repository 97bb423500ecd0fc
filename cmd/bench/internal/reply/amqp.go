package reply

import (
	"context"
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"
)

// publishers is the number of channels for publishing on a connection.
const publishers = 4

type amqpBroker struct {
	conn *amqp.Connection
	// channels are given to one publisher at a time; confirms arrive while others publish.
	channels chan *amqp.Channel
}

func dialAMQP(_ context.Context, address string) (broker, error) {
	conn, err := amqp.Dial(address)
	if err != nil {
		return nil, err
	}
	b := &amqpBroker{conn, make(chan *amqp.Channel, publishers)}
	if err := b.open(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return b, nil
}

// open creates the channels and the queues.
func (b *amqpBroker) open() error {
	for range publishers {
		ch, err := b.conn.Channel()
		if err != nil {
			return err
		}
		if err := ch.Confirm(false); err != nil {
			return err
		}
		b.channels <- ch
	}
	ch := <-b.channels
	defer func() { b.channels <- ch }()
	for _, queue := range []string{requests, replies} {
		if _, err := ch.QueueDeclare(queue, true, false, false, false, amqp.Table{"x-queue-type": "quorum"}); err != nil {
			return err
		}
	}
	return nil
}

func (b *amqpBroker) publish(ctx context.Context, queue, id string, body []byte) error {
	ch := <-b.channels
	confirm, err := ch.PublishWithDeferredConfirmWithContext(ctx, "", queue, true, false, amqp.Publishing{
		MessageId: id, DeliveryMode: amqp.Persistent, Body: body,
	})
	b.channels <- ch
	if err != nil {
		return err
	}
	acked, err := confirm.WaitContext(ctx)
	if err == nil && !acked {
		err = fmt.Errorf("broker has refused message %s", id)
	}
	return err
}

func (b *amqpBroker) consume(ctx context.Context, queue string, take func(context.Context, string, []byte) error) error {
	ch, err := b.conn.Channel()
	if err != nil {
		return err
	}
	defer func() { _ = ch.Close() }() // the connection ends anyway
	if err := ch.Qos(maxPending, 0, false); err != nil {
		return err
	}
	messages, err := ch.ConsumeWithContext(ctx, queue, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	var takers group
	defer takers.Wait()
	takers.Go(func() error {
		for m := range messages {
			takers.Go(func() error {
				if err := take(ctx, m.MessageId, m.Body); err != nil {
					return err
				}
				return m.Ack(false)
			})
		}
		return errEnded
	})
	return takers.until(ctx)
}

func (b *amqpBroker) close() error { return b.conn.Close() }
