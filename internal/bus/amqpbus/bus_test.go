package amqpbus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// startBus returns a bus on a virtual host of its own.
func startBus(t *testing.T) *amqpbus.Bus {
	t.Helper()
	return newBus(t, rabbittest.Shared(t).VHost(t))
}

func newBus(t *testing.T, url string) *amqpbus.Bus {
	t.Helper()
	b := &amqpbus.Bus{URL: url, Name: t.Name(), Timeout: time.Minute, Logger: slog.New(slog.NewTextHandler(testWriter{t}, nil))}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return b
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", bytes.TrimSpace(p))
	return len(p), nil
}

func envelope(id string) *bus.Envelope {
	return &bus.Envelope{ID: id, Type: "test", Source: "test/1", Body: []byte(`"` + id + `"`)}
}

func mustPublish(t *testing.T, b bus.Bus, to bus.Address, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := b.Publish(t.Context(), to, envelope(id)); err != nil {
			t.Fatal(err)
		}
	}
}

// receive returns the next n deliveries, each of which f settles.
func receive(t *testing.T, b bus.Bus, at bus.Address, n int, f func(*bus.Delivery) error) []*bus.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []*bus.Delivery
	for d, err := range b.Receive(ctx, bus.Subscription{At: at, Prefetch: 4}) {
		if err != nil {
			t.Fatalf("receive at %s: %v", at, err)
		}
		if err := f(d); err != nil {
			t.Fatalf("settle %s: %v", d.ID, err)
		}
		if got = append(got, d); len(got) == n {
			return got
		}
	}
	t.Fatalf("%d of %d envelopes arrived at %s", len(got), n, at)
	return nil
}

func ids(ds []*bus.Delivery) []string {
	var list []string
	for _, d := range ds {
		list = append(list, fmt.Sprintf("%s#%d", d.ID, d.Number))
	}
	return list
}

func ack(d *bus.Delivery) error { return d.Ack(context.Background()) }

func wantIDs(t *testing.T, got []*bus.Delivery, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, ids(got)); diff != "" {
		t.Errorf("deliveries mismatch (-want +got):\n%s", diff)
	}
}

// Envelopes that are published before there is a receiver are kept, in order.
func TestQueueKeeps(t *testing.T) {
	t.Parallel()
	b, q := startBus(t), bus.Queue("agent.task.echo")
	mustPublish(t, b, q, "1", "2", "3")
	if got, err := b.Depth(t.Context(), q); err != nil || got != (bus.Depth{Ready: 3}) {
		t.Errorf("Depth = %+v, %v, want three", got, err)
	}
	wantIDs(t, receive(t, b, q, 3, ack), "1#1", "2#1", "3#1")
	mustPublish(t, b, q, "4")
	if n, err := b.Purge(t.Context(), q); err != nil || n != 1 {
		t.Errorf("Purge = %d, %v, want 1", n, err)
	}
	if got, err := b.Depth(t.Context(), bus.Queue("nobody")); err != nil || got != (bus.Depth{}) {
		t.Errorf("Depth of no queue = %+v, %v", got, err)
	}
}

// A listener receives all of a burst: messages that are acknowledged together are acknowledged
// before the prefetch is exhausted.
func TestTopicFlows(t *testing.T) {
	t.Parallel()
	const n = 1000
	b, topic := startBus(t), bus.Topic("flow")
	ready, got := make(chan struct{}), make(chan int)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		seen := 0
		defer func() { got <- seen }()
		for _, err := range b.Receive(ctx, bus.Subscription{At: topic, Ready: func() { close(ready) }}) {
			if err != nil {
				t.Error(err)
				return
			}
			if seen++; seen == n {
				return
			}
		}
	}()
	<-ready
	for i := range n {
		mustPublish(t, b, topic, fmt.Sprint(i))
	}
	if seen := <-got; seen != n {
		t.Errorf("%d of %d envelopes were received", seen, n)
	}
}

// A deleted queue is declared again for the next envelope.
func TestReturned(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	b, q := newBus(t, url), bus.Queue("q")
	mustPublish(t, b, q, "1")
	if _, err := rabbittest.Channel(t, url).QueueDelete("q", false, false, false); err != nil {
		t.Fatal(err)
	}
	mustPublish(t, b, q, "2")
	wantIDs(t, receive(t, b, q, 1, ack), "2#1")
}

// putAt publishes bytes and waits until the broker has them.
func putAt(t *testing.T, url, exchange, key string, body []byte) {
	t.Helper()
	ch := rabbittest.Channel(t, url)
	if err := ch.Confirm(false); err != nil {
		t.Fatal(err)
	}
	done, err := ch.PublishWithDeferredConfirm(exchange, key, false, false, amqp.Publishing{Body: body})
	if err != nil || !done.Wait() {
		t.Fatalf("publish %.20s at %s: %v", body, key, err)
	}
}

// A queue that an operator has declared with other arguments is used unchanged.
func TestForeignQueue(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	if _, err := rabbittest.Channel(t, url).QueueDeclare("q", true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	b, q := newBus(t, url), bus.Queue("q")
	mustPublish(t, b, q, "1")
	wantIDs(t, receive(t, b, q, 1, ack), "1#1")
}

func TestNak(t *testing.T) {
	t.Parallel()
	b, q := startBus(t), bus.Queue("q")
	mustPublish(t, b, q, "1")
	began := time.Now()
	got := receive(t, b, q, bus.MaxDeliveries, func(d *bus.Delivery) error {
		after := 100 * time.Millisecond
		if d.Number == 2 {
			after = 0
		}
		return d.Nak(context.Background(), after)
	})
	wantIDs(t, got, "1#1", "1#2", "1#3", "1#4", "1#5")
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("three delays of 100 ms took %v", took)
	}
	dead := receive(t, b, bus.Dead, 1, ack)[0]
	if dead.Reason != bus.TooOften(q) || dead.Queue != "q" {
		t.Errorf("dead with reason %q of queue %q", dead.Reason, dead.Queue)
	}
}

// The broker counts the deliveries of receivers that die. The last receiver gets no envelope.
func TestReceiversThatDie(t *testing.T) {
	t.Parallel()
	b, q := startBus(t), bus.Queue("q")
	mustPublish(t, b, q, "1")
	for n := range bus.MaxDeliveries {
		got := receive(t, b, q, 1, func(*bus.Delivery) error { return nil })
		wantIDs(t, got, fmt.Sprintf("1#%d", n+1))
	}
	mustPublish(t, b, q, "2")
	wantIDs(t, receive(t, b, q, 1, ack), "2#1")
	dead := receive(t, b, bus.Dead, 1, ack)[0]
	if dead.Reason != bus.TooOften(q) || dead.Queue != "q" {
		t.Errorf("dead with reason %q of queue %q", dead.Reason, dead.Queue)
	}
}

// If receivers do not count, the broker does.
func TestForeignReceiversThatDie(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	b, q := newBus(t, url), bus.Queue("q")
	mustPublish(t, b, q, "1")
	deliveries, err := rabbittest.Channel(t, url).Consume("q", "", false, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	dead := listen(t, b, bus.Dead)
	n := 0
	for {
		select {
		case d := <-deliveries:
			n++
			if err := d.Nack(false, true); err != nil {
				t.Fatal(err)
			}
			continue
		case d := <-dead:
			if n < bus.MaxDeliveries || d.Queue != "q" || d.Reason == "" {
				t.Errorf("after %d deliveries, dead with reason %q of queue %q", n, d.Reason, d.Queue)
			}
		}
		return
	}
}

// An envelope that was prefetched but not yielded counts as not delivered.
func TestUnsubscribingCountsNoDelivery(t *testing.T) {
	t.Parallel()
	b, q := startBus(t), bus.Queue("q")
	mustPublish(t, b, q, "1", "2", "3", "4")
	for range 2 * bus.MaxDeliveries {
		receive(t, b, q, 1, func(d *bus.Delivery) error { return ack(d) })
		mustPublish(t, b, q, "more")
	}
	got := receive(t, b, q, 4, ack)
	for _, d := range got {
		if d.Number != 1 {
			t.Errorf("delivery %s has number %d, want 1", d.ID, d.Number)
		}
	}
}

func TestDeadLetterAndPoison(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	b, q := newBus(t, url), bus.Queue("q")
	mustPublish(t, b, q, "1")
	receive(t, b, q, 1, func(d *bus.Delivery) error { return d.DeadLetter(t.Context(), "no use") })
	putAt(t, url, "", "q", []byte("{no json"))
	mustPublish(t, b, q, "2")
	wantIDs(t, receive(t, b, q, 1, ack), "2#1")
	dead := receive(t, b, bus.Dead, 2, ack)
	if dead[0].ID != "1" || dead[0].Reason != "no use" || string(dead[0].Body) != `"1"` {
		t.Errorf("dead letter: %+v", dead[0].Envelope)
	}
	if dead[1].Type != bus.TypeUnreadable || dead[1].Queue != "q" || dead[1].Reason == "" {
		t.Errorf("poison: %+v", dead[1].Envelope)
	}
}

// listen receives at a topic until the test ends, and returns when it is subscribed.
func listen(t *testing.T, b bus.Bus, at bus.Address) <-chan *bus.Delivery {
	t.Helper()
	got, ready := make(chan *bus.Delivery, 1000), make(chan struct{}, 10)
	ctx, cancel := context.WithCancel(t.Context())
	var owned sync.WaitGroup
	owned.Go(func() {
		for d, err := range b.Receive(ctx, bus.Subscription{At: at, Ready: func() { ready <- struct{}{} }}) {
			if err != nil {
				t.Errorf("listen at %s: %v", at, err)
				return
			}
			got <- d
		}
	})
	t.Cleanup(func() { cancel(); owned.Wait() })
	<-ready
	return got
}

func TestTopic(t *testing.T) {
	t.Parallel()
	b, at := startBus(t), bus.Topic("hub.control.1")
	mustPublish(t, b, at, "nobody")
	one, two := listen(t, b, at), listen(t, b, at)
	other := listen(t, b, bus.Topic("hub.control.2"))
	for i := range 100 {
		mustPublish(t, b, at, fmt.Sprint(i))
	}
	for i := range 100 {
		if a, b := (<-one).ID, (<-two).ID; a != fmt.Sprint(i) || b != a {
			t.Fatalf("%d arrives as %s and %s", i, a, b)
		}
	}
	if len(other) > 0 {
		t.Errorf("%+v arrived at another topic", (<-other).Envelope)
	}
}

// Many goroutines publish concurrently; each waits for its own confirm.
func TestPublishSideBySide(t *testing.T) {
	t.Parallel()
	b, q := startBus(t), bus.Queue("q")
	const n = 400
	var owned sync.WaitGroup
	for i := range n {
		owned.Go(func() {
			if err := b.Publish(t.Context(), q, envelope(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	owned.Wait()
	seen := map[string]bool{}
	for _, d := range receive(t, b, q, n, ack) {
		seen[d.ID] = true
	}
	if len(seen) != n {
		t.Errorf("%d of %d arrived", len(seen), n)
	}
}

func TestBadAddress(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, url string }{
		{"empty", ""},
		{"scheme", "http://u:SECRET@localhost"},
		{"space", "amqp://u:SEC RET@localhost"},
		{"port", "amqp://u:SECRET@localhost:x"},
		{"escape", "amqp://u:SECRET%@localhost"},
	}
	for _, tt := range tests {
		b := &amqpbus.Bus{URL: tt.url}
		err := b.Publish(t.Context(), bus.Queue("q"), envelope("1"))
		if err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: Publish = %v", tt.name, err)
		}
		for _, err := range b.Receive(t.Context(), bus.Subscription{At: bus.Queue("q")}) {
			if err == nil || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%s: Receive = %v", tt.name, err)
			}
		}
	}
}

// Wrong credentials are reported at once and retried now and then, until they are corrected;
// the password appears nowhere.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	s := rabbittest.Shared(t)
	address := s.User(t, s.VHost(t), `{"configure":".*","write":".*","read":".*"}`)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	name := u.User.Username()
	u.User = url.UserPassword(name, "CORRECT")
	var log testenv.Buffer
	b := &amqpbus.Bus{URL: u.String(), Timeout: time.Hour, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	t.Cleanup(func() { b.Close() })
	err = b.Publish(t.Context(), bus.Queue("q"), envelope("1")) // it does not wait for the timeout
	const want = "refused: wrong user or password"
	if !errors.Is(err, bus.ErrUnavailable) || !strings.Contains(err.Error(), want) {
		t.Errorf("Publish = %v, want ErrUnavailable and %q", err, want)
	}
	arrived := make(chan string, 1)
	go func() {
		for d, err := range b.Receive(t.Context(), bus.Subscription{At: bus.Queue("q")}) {
			if err != nil {
				arrived <- err.Error()
				return
			}
			arrived <- d.ID
			return
		}
	}()
	s.Ctl(t, "change_password", name, "CORRECT")
	right := newBus(t, u.String())
	mustPublish(t, right, bus.Queue("q"), "2")
	if got := <-arrived; got != "2" {
		t.Errorf("received %q, want 2", got)
	}
	for _, want := range []string{"RabbitMQ refused the connection: wrong user or password", `"connected to RabbitMQ"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log is without %q:\n%s", want, &log)
		}
	}
	if strings.Contains(log.String(), "CORRECT") || strings.Contains(err.Error(), "CORRECT") {
		t.Errorf("the password is in the log or in the error: %s, %v", &log, err)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	b := startBus(t)
	mustPublish(t, b, bus.Queue("q"), "1")
	for d, err := range b.Receive(t.Context(), bus.Subscription{At: bus.Queue("q")}) {
		if err != nil {
			if !errors.Is(err, bus.ErrClosed) {
				t.Errorf("Receive after Close = %v", err)
			}
			break
		}
		if d.ID != "1" {
			t.Errorf("received %s", d.ID)
		}
		b.Close()
	}
	if err := b.Publish(t.Context(), bus.Queue("q"), envelope("2")); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("Publish after Close = %v", err)
	}
}

// TestCloseBesideTheFirstUse: Close waits for goroutines that start at the same time, or they
// do not start.
func TestCloseBesideTheFirstUse(t *testing.T) {
	t.Parallel()
	for range 200 {
		b := &amqpbus.Bus{URL: "amqp://guest:guest@127.0.0.1:1/"}
		var users sync.WaitGroup
		for range 2 {
			users.Go(func() {
				err := b.Publish(t.Context(), bus.Queue("q"), envelope("1"))
				if !errors.Is(err, bus.ErrClosed) && !errors.Is(err, bus.ErrUnavailable) {
					t.Errorf("Publish = %v, want ErrClosed or ErrUnavailable", err)
				}
			})
		}
		users.Go(func() {
			if err := b.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
		})
		users.Wait()
	}
}
