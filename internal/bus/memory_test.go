package bus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	testenv.Parallel(16) // tests wait for leases
	goleak.VerifyTestMain(m)
}

var work = bus.Queue("agent.task.echo")

func letter(id string) *bus.Envelope {
	return &bus.Envelope{ID: id, Type: "test.letter", Source: "worker/1"}
}

func publish(t *testing.T, b bus.Bus, to bus.Address, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := b.Publish(t.Context(), to, letter(id)); err != nil {
			t.Fatal(err)
		}
	}
}

// take receives n envelopes at a queue, calls f with each, and returns their ids.
func take(t *testing.T, b bus.Bus, n int, f func(d *bus.Delivery) error) []string {
	t.Helper()
	var ids []string
	for d, err := range b.Receive(t.Context(), bus.Subscription{At: work, Lease: time.Second}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, d.ID)
		if err := f(d); err != nil {
			t.Fatal(err)
		}
		if len(ids) == n {
			break
		}
	}
	return ids
}

func ack(d *bus.Delivery) error { return d.Ack(context.Background()) }

func TestMemoryKeepsOrderAndUnreceivedEnvelopes(t *testing.T) {
	t.Parallel()
	var m bus.Memory
	publish(t, &m, work, "a", "b", "c")
	got := take(t, &m, 2, ack)
	got = append(got, take(t, m.Peer(), 1, ack)...)
	if diff := cmp.Diff([]string{"a", "b", "c"}, got); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
	if d, err := m.Depth(t.Context(), work); err != nil || d != (bus.Depth{}) {
		t.Errorf("Depth = %+v, %v, want nothing", d, err)
	}
}

func TestMemoryRequeuesAfterTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m bus.Memory
		publish(t, &m, work, "a")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var numbers []int
		s := bus.Subscription{At: work, Lease: time.Second, Prefetch: 9}
		for d, err := range m.Receive(ctx, s) {
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, d.Number)
			if d.Number == 2 {
				time.Sleep(900 * time.Millisecond)
				synctest.Wait()
				if err := d.Extend(ctx); err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(900*time.Millisecond, func() { _ = d.Ack(ctx) })
				time.AfterFunc(time.Hour, cancel)
			}
		}
		if diff := cmp.Diff([]int{1, 2}, numbers); diff != "" {
			t.Errorf("deliveries (-want +got):\n%s", diff)
		}
	})
}

func TestMemoryFull(t *testing.T) {
	t.Parallel()
	m := bus.Memory{MaxBytes: 1000}
	e := letter("large")
	e.Body = json.RawMessage(`"` + strings.Repeat("x", 800) + `"`)
	if err := m.Publish(t.Context(), work, e); err != nil {
		t.Fatal(err)
	}
	if err := m.Publish(t.Context(), work, e); !errors.Is(err, bus.ErrFull) {
		t.Errorf("Publish = %v, want ErrFull", err)
	}
	take(t, &m, 1, ack)
	if err := m.Publish(t.Context(), work, e); err != nil {
		t.Errorf("Publish after Ack = %v", err)
	}
	if n, err := m.Purge(t.Context(), work); n != 1 || err != nil {
		t.Errorf("Purge = %d, %v, want 1", n, err)
	}
	if err := m.Publish(t.Context(), work, e); err != nil {
		t.Errorf("Publish after Purge = %v", err)
	}
}

func TestDeadLetterKeepsTheEnvelope(t *testing.T) {
	t.Parallel()
	data := []byte(`{"v":2,"id":"a","type":"t","source":"s","new":{"x":1}, "reason":"old"} ` + "\n")
	dead := bus.DeadLetter(data, work, "because\xff")
	e := bus.ReadDead(dead)
	if e.ID != "a" || e.Reason != "because" || e.Queue != work.Name || !bytes.Contains(dead, []byte(`"new":{"x":1}`)) {
		t.Errorf("DeadLetter = %s, read %+v", dead, e)
	}
	for _, data := range [][]byte{
		nil, []byte("rubbish"), []byte("null"), []byte("{}"), []byte(`{"v":1,"id":"a","type":"t","source":"s"}`),
		bytes.Repeat([]byte{'{'}, 2<<20),
	} {
		e := bus.ReadDead(bus.DeadLetter(data, work, strings.Repeat("\x01", 9999)))
		var u bus.Unreadable
		if err := json.Unmarshal(e.Body, &u); err != nil || e.Type != bus.TypeUnreadable || u.Size != len(data) || !bytes.HasPrefix(data, u.Bytes) {
			t.Errorf("DeadLetter(%.20q): %v, type %s, size %d", data, err, e.Type, u.Size)
		}
		if e := bus.ReadDead(data); e.Type != bus.TypeUnreadable {
			t.Errorf("ReadDead(%.20q) has type %s", data, e.Type)
		}
	}
}

func TestLargestEnvelopeFitsAtDead(t *testing.T) {
	t.Parallel()
	e := letter("a")
	e.Body = json.RawMessage(`""`)
	b, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	e.Body = json.RawMessage(`"` + strings.Repeat("<", bus.MaxEnvelope-len(b)) + `"`)
	if b, err = e.Encode(); err != nil || len(b) != bus.MaxEnvelope {
		t.Fatalf("Encode gives %d bytes, %v, want %d", len(b), err, bus.MaxEnvelope)
	}
	if _, err := bus.Decode(b); err != nil {
		t.Error(err)
	}
	if e := bus.ReadDead(bus.DeadLetter(b, work, strings.Repeat("\x01", 9999))); e.ID != "a" || e.Reason == "" {
		t.Errorf("dead letter is %s with reason %.20q", e.ID, e.Reason)
	}
	e.Body = json.RawMessage(string(e.Body) + " ") // Encode drops the space
	if _, err := e.Encode(); err != nil {
		t.Error(err)
	}
	e.Source += "x"
	if _, err := e.Encode(); !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("Encode of one byte more = %v, want ErrTooLarge", err)
	}
	if _, err := bus.Decode(append(b, ' ')); !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("Decode of one byte more = %v, want ErrTooLarge", err)
	}
}

func ExampleMemory() {
	ctx := context.Background()
	var b bus.Memory
	queue := bus.Queue("agent.task.echo")
	if err := b.Publish(ctx, queue, &bus.Envelope{ID: "1", Type: "example", Source: "me"}); err != nil {
		fmt.Println(err)
	}
	for d, err := range b.Receive(ctx, bus.Subscription{At: queue}) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(d.ID, d.Type, d.Ack(ctx))
		break
	}
	// Output: 1 example <nil>
}
