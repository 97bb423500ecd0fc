package workertest

import (
	"context"
	neturl "net/url"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus/embedded"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

// Brokers are all brokers that workers use.
var Brokers = map[string]func(t *testing.T) *Broker{"NATS": NATS, "RabbitMQ": RabbitMQ}

// NATS starts the broker of a hub, for one worker.
func NATS(t *testing.T) *Broker {
	t.Helper()
	server, err := embedded.Start(embedded.Options{Listen: "127.0.0.1:0", Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close the broker: %v", err)
		}
	})
	b, err := server.Open(t.Context(), natsbus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(server.Contact().URL, "://", "://secret@", 1)
	acks := make(chan struct{}, 1024)
	tap, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tap.Close)
	if _, err := tap.Subscribe("$JS.ACK.>", func(m *nats.Msg) {
		if strings.Contains(m.Subject, ".agent+task+"+Agent+".") && (len(m.Data) == 0 || string(m.Data) == "+ACK") {
			acks <- struct{}{}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := tap.Flush(); err != nil {
		t.Fatal(err)
	}
	return &Broker{Bus: b, URL: url, Acks: acks, Raw: func(t *testing.T, queue string, data []byte) {
		t.Helper()
		js, err := tap.JetStream()
		if err == nil {
			_, err = js.Publish("parley.queue."+queue, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}}
}

// RabbitMQ creates a virtual host, for one worker, at the broker that the tests of a package share.
// Without an installed broker the test is skipped. The worker gets the address of a proxy, which sees
// its acknowledgments.
func RabbitMQ(t *testing.T) *Broker {
	t.Helper()
	url := rabbittest.Shared(t).VHost(t)
	u, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	p := startTap(t, u.Host)
	u.Host = p.listener.Addr().String()
	b := &amqpbus.Bus{URL: url}
	// RabbitMQ 3.10 may refuse messages for a queue that hub and worker declare at the same time.
	ctx, declared := context.WithCancel(t.Context())
	for _, err := range b.Receive(ctx, bus.Subscription{At: protocol.JobAt(Agent), Ready: declared}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	declared()
	return &Broker{Bus: b, URL: u.String(), Acks: p.acks, Raw: func(t *testing.T, queue string, data []byte) {
		t.Helper()
		if err := publishRaw(url, queue, data); err != nil {
			t.Fatal(err)
		}
	}}
}

// publishRaw publishes bytes at a queue that exists.
func publishRaw(url, queue string, data []byte) error {
	c, err := amqp.Dial(url)
	if err != nil {
		return err
	}
	defer c.Close()
	ch, err := c.Channel()
	if err != nil {
		return err
	}
	if err := ch.Confirm(false); err != nil {
		return err
	}
	sent, err := ch.PublishWithDeferredConfirm("", queue, true, false, amqp.Publishing{Body: data, DeliveryMode: amqp.Persistent})
	if err != nil {
		return err
	}
	sent.Wait()
	return nil
}
