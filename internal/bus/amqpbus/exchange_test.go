package amqpbus_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
)

func TestExchange(t *testing.T) {
	t.Parallel()
	b := startBus(t)
	x := &amqpbus.Exchange{Bus: b, Name: "foreign", DeadLetters: "foreign.dead"}
	sent := amqpbus.Message{
		Topic: "a.b", ID: "1", Type: "T", Correlation: "c", ReplyTo: "r", Time: time.Unix(1700000000, 0),
		Headers: map[string]string{"h": "v"}, Body: []byte("any bytes"),
	}
	if err := x.Publish(t.Context(), &sent, nil); err != nil {
		t.Fatalf("Publish without a bound queue = %v", err)
	}
	q := amqpbus.Queue{Name: "q", Topic: "a.b"}
	for range 2 {
		if err := x.Publish(t.Context(), &sent, &q); err != nil {
			t.Fatalf("Publish to a queue that is not there = %v", err)
		}
	}
	got := take(t, x, q, (*amqpbus.Arrival).Ack)
	if diff := cmp.Diff(sent, got.Message); diff != "" {
		t.Errorf("message mismatch (-want +got):\n%s", diff)
	}
	take(t, x, q, (*amqpbus.Arrival).Refuse)
	take(t, x, amqpbus.Queue{Name: "q.dlq", Topic: "unused"}, (*amqpbus.Arrival).Ack)
	if d, err := b.Depth(t.Context(), bus.Queue("q")); err != nil || d.Ready != 0 {
		t.Errorf("Depth = %+v, %v, want nothing", d, err)
	}
}

// take settles the next message of a queue.
func take(t *testing.T, x *amqpbus.Exchange, q amqpbus.Queue, settle func(*amqpbus.Arrival) error) *amqpbus.Arrival {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for a, err := range x.Receive(ctx, q, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if err := settle(a); err != nil {
			t.Fatal(err)
		}
		if err := a.Ack(); err != nil {
			t.Errorf("second settlement = %v", err)
		}
		return a
	}
	t.Fatal("nothing arrived")
	return nil
}
