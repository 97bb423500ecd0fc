package rabbittest_test

import (
	"net"
	"strconv"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(rabbittest.Exit))
}

// A killed broker starts again at the same address with all confirmed messages.
func TestKillAndLaunch(t *testing.T) {
	s := rabbittest.Shared(t)
	url := s.VHost(t)
	ch := rabbittest.Channel(t, url)
	if _, err := ch.QueueDeclare("q", true, false, false, false, amqp.Table{"x-queue-type": "quorum"}); err != nil {
		t.Fatal(err)
	}
	if err := ch.Confirm(false); err != nil {
		t.Fatal(err)
	}
	done, err := ch.PublishWithDeferredConfirm("", "q", true, false, amqp.Publishing{Body: []byte("x"), DeliveryMode: amqp.Persistent})
	if err != nil || !done.Wait() {
		t.Fatalf("publish: %v", err)
	}
	s.Sync(t)
	s.Kill()
	if c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port()))); err == nil {
		c.Close()
		t.Fatal("somebody listens after the kill")
	}
	s.Launch(t)
	msg, ok, err := rabbittest.Channel(t, url).Get("q", true)
	if err != nil || !ok || string(msg.Body) != "x" {
		t.Errorf("Get = %q, %v, %v after a kill, want x", msg.Body, ok, err)
	}
}

// Messages counts a message until its receiver has settled it.
func TestMessages(t *testing.T) {
	s := rabbittest.Shared(t)
	ch := rabbittest.Channel(t, s.VHost(t))
	for _, name := range []string{"no.messages", "two.messages"} {
		if _, err := ch.QueueDeclare(name, true, false, false, false, amqp.Table{"x-queue-type": "quorum"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ch.Confirm(false); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		done, err := ch.PublishWithDeferredConfirm("", "two.messages", true, false, amqp.Publishing{Body: []byte("x")})
		if err != nil || !done.Wait() {
			t.Fatalf("publish: %v", err)
		}
	}
	get := func() amqp.Delivery {
		t.Helper()
		msg, ok, err := ch.Get("two.messages", false)
		if err != nil || !ok {
			t.Fatalf("Get = %v, %v", ok, err)
		}
		return msg
	}
	wants := func(n int) {
		t.Helper()
		got := s.Messages(t)
		if _, empty := got["no.messages"]; empty || got["two.messages"] != n {
			t.Errorf("the queues have %v, want %d in two.messages", got, n)
		}
	}
	first := get()
	wants(2)
	if err := first.Ack(false); err != nil {
		t.Fatal(err)
	}
	get() // the broker has handled the acknowledgement before
	wants(1)
}

func TestFill(t *testing.T) {
	s := rabbittest.Shared(t)
	conn, err := amqp.Dial(s.VHost(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	blocked := conn.NotifyBlocked(make(chan amqp.Blocking, 4))
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	empty := s.Fill(t)
	if err := ch.Publish("", "nowhere", false, false, amqp.Publishing{}); err != nil {
		t.Fatal(err)
	}
	if b := <-blocked; !b.Active {
		t.Errorf("blocked = %+v with a full disk", b)
	}
	empty()
	if b := <-blocked; b.Active {
		t.Errorf("blocked = %+v with an empty disk", b)
	}
}
