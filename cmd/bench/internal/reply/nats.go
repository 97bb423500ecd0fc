package reply

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// stream holds both queues.
const stream = "BENCH"

// maxPending is the largest number of unacknowledged messages of a consumer.
const maxPending = 1024

type natsBroker struct {
	conn *nats.Conn
	js   jetstream.JetStream
}

func dialNATS(ctx context.Context, address string) (broker, error) {
	conn, err := nats.Connect(address)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	if err == nil {
		_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: stream, Subjects: []string{requests, replies}, Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage,
		})
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &natsBroker{conn, js}, nil
}

func (b *natsBroker) publish(ctx context.Context, queue, id string, body []byte) error {
	m := nats.NewMsg(queue)
	m.Header.Set("Id", id)
	m.Data = body
	_, err := b.js.PublishMsg(ctx, m)
	return err
}

func (b *natsBroker) consume(ctx context.Context, queue string, take func(context.Context, string, []byte) error) error {
	c, err := b.js.CreateOrUpdateConsumer(ctx, stream, jetstream.ConsumerConfig{
		Durable: queue, FilterSubject: queue, AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute, MaxAckPending: maxPending,
	})
	if err != nil {
		return err
	}
	var takers group
	defer takers.Wait()
	running, err := c.Consume(func(m jetstream.Msg) {
		takers.Go(func() error {
			if err := take(ctx, m.Headers().Get("Id"), m.Data()); err != nil {
				return err
			}
			return m.Ack()
		})
	}, jetstream.PullMaxMessages(maxPending))
	if err != nil {
		return err
	}
	defer func() {
		running.Stop()
		<-running.Closed()
	}()
	return takers.until(ctx)
}

func (b *natsBroker) close() error {
	b.conn.Close()
	return nil
}
