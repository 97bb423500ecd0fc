package natsbus_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// TestStreamAndConsumersDeleted has an operator who deletes a consumer that is in use.
func TestStreamAndConsumersDeleted(t *testing.T) {
	t.Parallel()
	s := run(t, server.Options{JetStream: true})
	_, js := connect(t, s.ClientURL())
	b := open(t, s.ClientURL(), natsbus.Options{})
	defer b.Close()
	got, ready := make(chan string), make(chan struct{}, 9)
	done, enough := make(chan struct{}), make(chan struct{})
	go func() { // ends with Close
		defer close(done)
		for d, err := range b.Receive(t.Context(), bus.Subscription{At: protocol.JobAt("echo"), Ready: func() { ready <- struct{}{} }}) {
			if err != nil {
				return
			}
			if err := d.Ack(t.Context()); err != nil {
				t.Error(err)
			}
			select {
			case got <- d.ID:
			case <-enough:
			}
		}
	}()
	<-ready
	arrives := func(id string) {
		t.Helper()
		if err := b.Publish(t.Context(), protocol.JobAt("echo"), letter(id)); err != nil {
			t.Fatalf("Publish(%q) = %v", id, err)
		}
		// An acknowledgement is lost with the consumer, so other envelopes may come again.
		for now, late := "", time.After(time.Minute); now != id; {
			select {
			case now = <-got:
			case <-late:
				t.Fatalf("%q did not arrive", id)
			}
		}
	}
	arrives("a")
	if err := js.DeleteConsumer(t.Context(), natsbus.DefaultStream, "agent+task+echo"); err != nil {
		t.Fatal(err)
	}
	arrives("b")
	close(enough)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
}

// TestHeldOfAnEarlierStream: an operator replaces the stream by one that uses the same sequences
// again; a worker of an agent creates none by itself. Deliveries from the earlier stream still
// occupy their receiver.
func TestHeldOfAnEarlierStream(t *testing.T) {
	t.Parallel()
	s := run(t, server.Options{JetStream: true})
	_, js := connect(t, s.ClientURL())
	config := jetstream.StreamConfig{Name: natsbus.DefaultStream, Subjects: []string{"parley.queue.>"}, Retention: jetstream.WorkQueuePolicy}
	if _, err := js.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	at := protocol.JobAt("echo")
	busy, other := open(t, s.ClientURL(), natsbus.Options{Agent: "echo"}), open(t, s.ClientURL(), natsbus.Options{})
	defer other.Close()
	held, done := make(chan string, 3), make(chan struct{})
	go func() { // ends with Close
		defer close(done)
		for d, err := range busy.Receive(t.Context(), bus.Subscription{At: at, Prefetch: 2}) {
			if err != nil {
				return
			}
			held <- d.ID
		}
	}()
	publish := func(id string) {
		t.Helper()
		if err := other.Publish(t.Context(), at, letter(id)); err != nil {
			t.Fatal(err)
		}
	}
	publish("old")
	<-held
	if err := js.DeleteStream(t.Context(), natsbus.DefaultStream); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	publish("new")
	if id := <-held; id != "new" {
		t.Fatalf("%s arrives, want new", id)
	}
	publish("more")
	for d, err := range other.Receive(t.Context(), bus.Subscription{At: at}) {
		if err != nil || d.ID != "more" {
			t.Errorf("Receive yields %+v, %v, want more", d, err)
		}
		break
	}
	if err := busy.Close(); err != nil {
		t.Error(err)
	}
	<-done
}

// TestCloseWhileBusy closes a bus from within a loop that ends only afterwards.
func TestCloseWhileBusy(t *testing.T) {
	t.Parallel()
	s := run(t, server.Options{JetStream: true})
	b, other := open(t, s.ClientURL(), natsbus.Options{}), open(t, s.ClientURL(), natsbus.Options{})
	defer other.Close()
	if err := b.Publish(t.Context(), protocol.JobAt("echo"), letter("a")); err != nil {
		t.Fatal(err)
	}
	const lease = time.Hour // it comes again before, so Close has returned it to the queue
	for d, err := range b.Receive(t.Context(), bus.Subscription{At: protocol.JobAt("echo"), Lease: lease}) {
		if err != nil {
			break // the bus is closed
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		for again, err := range other.Receive(t.Context(), bus.Subscription{At: protocol.JobAt("echo"), Lease: lease}) {
			if err != nil || again.ID != d.ID {
				t.Errorf("Receive yields %+v, %v, want %q again", again, err, d.ID)
			}
			break
		}
	}
}

// TestShownToAutoscalers: a queue without any receiver so far has its consumer as soon as it
// contains an envelope, and the consumer counts the waiting envelopes. This also holds if the
// consumer exists already.
func TestShownToAutoscalers(t *testing.T) {
	t.Parallel()
	s := run(t, server.Options{JetStream: true})
	_, js := connect(t, s.ClientURL())
	for i := range 2 {
		b := open(t, s.ClientURL(), natsbus.Options{})
		for j := range 3 {
			if err := b.Publish(t.Context(), protocol.JobAt("poet"), letter(fmt.Sprint(i, j))); err != nil {
				t.Fatal(err)
			}
		}
		want := uint64(3 * (i + 1))
		var got *jetstream.ConsumerInfo
		// The server counts a stored envelope after it has confirmed it.
		for late := time.Now().Add(time.Minute); got == nil || got.NumPending < want && time.Now().Before(late); {
			c, err := js.Consumer(t.Context(), natsbus.DefaultStream, natsbus.ConsumerName(protocol.JobAt("poet")))
			if err != nil {
				t.Fatal(err)
			}
			got = c.CachedInfo()
		}
		if got.NumPending != want || got.Config.AckWait != bus.DefaultLease || got.Config.MaxDeliver != -1 {
			t.Errorf("%d wait, acknowledgement wait %v, deliveries %d", got.NumPending, got.Config.AckWait, got.Config.MaxDeliver)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
