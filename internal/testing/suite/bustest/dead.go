package bustest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/bus"
)

var deadTests = []testCase{
	{"DeadLetter", testDeadLetter},
	{"DeadAfterNaks", testDeadAfterNaks},
	{"DeadAfterLeaving", testDeadAfterLeaving},
	{"DeadAfterLeases", testDeadAfterLeases},
	{"DeadLarge", testDeadLarge},
	{"DeadStays", testDeadStays},
	{"Poison", testPoison},
	{"PoisonAtDead", testPoisonAtDead},
	{"PoisonAtTopic", testPoisonAtTopic},
}

// deadLettered fails the test unless e is next at Dead, with a reason that contains part.
func (x *bed) deadLettered(in *inbox, e *bus.Envelope, part string) {
	x.Helper()
	d := in.hold(e.ID)
	if d.Queue != queue.Name || !strings.Contains(d.Reason, part) || d.Reason == "" {
		x.Errorf("dead letter %q has queue %q and reason %q, want %q and %q in it", d.ID, d.Queue, d.Reason, queue.Name, part)
	}
	got := *d.Envelope
	got.Reason, got.Queue = "", ""
	x.same(e, &got)
	in.ack(d)
}

func testDeadLetter(x *bed) {
	b := x.open()
	x.publish(b, queue, "a", "b")
	in := x.receive(b, bus.Subscription{At: queue})
	if err := in.hold("a").DeadLetter(x.context(), "it \"smells\""); err != nil {
		x.Fatalf("DeadLetter = %v", err)
	}
	in.take("b")
	in.onlyAt(b, "fence")
	dead := x.receive(b, bus.Subscription{At: bus.Dead})
	x.deadLettered(dead, letter("a"), `it "smells"`)
	dead.onlyAt(b, "fence")
}

func testDeadAfterNaks(x *bed) {
	b := x.open()
	x.publish(b, queue, "a")
	in := x.receive(b, bus.Subscription{At: queue})
	for range bus.MaxDeliveries {
		in.nak(in.hold("a"))
	}
	x.deadLettered(x.receive(b, bus.Subscription{At: bus.Dead}), letter("a"), "")
	in.onlyAt(b, "fence")
}

func testDeadAfterLeaving(x *bed) {
	b := x.open()
	x.publish(b, queue, "a")
	for range bus.MaxDeliveries {
		in := x.receive(b, bus.Subscription{At: queue})
		in.hold("a")
		in.stop()
	}
	x.receive(b, bus.Subscription{At: queue}).onlyAt(b, "fence")
	x.deadLettered(x.receive(b, bus.Subscription{At: bus.Dead}), letter("a"), "")
}

func testDeadAfterLeases(x *bed) {
	if !x.f.Leases {
		x.lacks("leases")
		return
	}
	b := x.open()
	x.publish(b, queue, "a")
	in := x.receive(b, bus.Subscription{At: queue, Lease: shortLease / 2, Prefetch: 9})
	for range bus.MaxDeliveries {
		in.hold("a")
	}
	x.deadLettered(x.receive(b, bus.Subscription{At: bus.Dead}), letter("a"), "")
	in.onlyAt(b, "fence")
}

// testDeadLarge leaves room for a reason only beyond MaxEnvelope.
func testDeadLarge(x *bed) {
	b := x.open()
	e := x.sized("large", bus.MaxEnvelope)
	if err := b.Publish(x.context(), queue, e); err != nil {
		x.Fatalf("Publish = %v", err)
	}
	in := x.receive(b, bus.Subscription{At: queue})
	if err := in.hold("large").DeadLetter(x.context(), strings.Repeat("\x01\xff", 2000)); err != nil {
		x.Fatalf("DeadLetter = %v", err)
	}
	x.deadLettered(x.receive(b, bus.Subscription{At: bus.Dead}), e, "\x01\x01")
}

// testDeadStays applies the verdicts at Dead that move an envelope to Dead elsewhere.
func testDeadStays(x *bed) {
	b := x.open()
	x.publish(b, bus.Dead, "a")
	dead := x.receive(b, bus.Subscription{At: bus.Dead})
	for range bus.MaxDeliveries {
		dead.nak(dead.hold("a"))
	}
	if err := dead.hold("a").DeadLetter(x.context(), "again"); err != nil {
		x.Fatalf("DeadLetter = %v", err)
	}
	d := dead.hold("a")
	if d.Reason != "" {
		x.Errorf("at Dead it has died again: %s", d.Reason)
	}
	dead.ack(d)
	dead.onlyAt(b, "fence")
}

// rubbish returns data that must not be accepted as an envelope.
func rubbish() map[string][]byte {
	return map[string][]byte{
		"not JSON":        []byte("\xff\x00rubbish"),
		"not an object":   []byte("[1]"),
		"not an envelope": []byte("{}"),
		"version":         []byte(`{"v":99,"id":"future","type":"t","source":"s"}`),
		"no version":      []byte(`{"id":"past","type":"t","source":"s"}`),
		"wrong type":      []byte(`{"v":2,"id":7,"type":"t","source":"s"}`),
		"too large":       bytes.Repeat([]byte{'x'}, 1000<<10),
	}
}

func testPoison(x *bed) {
	if x.b.Poison == nil {
		x.lacks("a way to poison it")
		return
	}
	b := x.open()
	in := x.receive(b, bus.Subscription{At: queue})
	poison := rubbish()
	for _, name := range slices.Sorted(maps.Keys(poison)) {
		x.b.Poison(x.T, queue, poison[name])
	}
	in.onlyAt(b, "fence")
	x.unreadable(x.receive(b, bus.Subscription{At: bus.Dead}), poison, queue.Name)
}

// unreadable fails the test unless poison is at Dead.
func (x *bed) unreadable(dead *inbox, poison map[string][]byte, from string) {
	x.Helper()
	want, got := map[string]int{}, map[string]int{}
	for _, data := range poison {
		want[string(data[:min(100, len(data))])] = len(data)
		d := dead.next()
		var u bus.Unreadable
		if err := json.Unmarshal(d.Body, &u); err != nil || d.Type != bus.TypeUnreadable || d.Reason == "" || d.Queue != from {
			x.Errorf("at Dead: %q of type %q, reason %q, from %q: %v", d.ID, d.Type, d.Reason, d.Queue, err)
		}
		got[string(u.Bytes[:min(100, len(u.Bytes))])] = u.Size
		dead.ack(d)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		x.Errorf("sizes of unreadable bytes by their beginning (-want +got):\n%s", diff)
	}
}

func testPoisonAtDead(x *bed) {
	if x.b.Poison == nil {
		x.lacks("a way to poison it")
		return
	}
	b := x.open()
	poison := rubbish()
	for _, data := range poison {
		x.b.Poison(x.T, bus.Dead, data)
	}
	dead := x.receive(b, bus.Subscription{At: bus.Dead})
	x.unreadable(dead, poison, bus.Dead.Name)
	dead.onlyAt(b, "fence")
}

func testPoisonAtTopic(x *bed) {
	if x.b.Poison == nil {
		x.lacks("a way to poison it")
		return
	}
	b := x.open()
	versions := make(chan int, len(rubbish()))
	in := x.receive(b, bus.Subscription{At: topic, Unreadable: func(e *bus.Envelope) { versions <- e.Version }})
	for _, data := range rubbish() {
		x.b.Poison(x.T, topic, data)
	}
	in.onlyAt(b, "fence")
	if close(versions); len(versions) != len(rubbish()) {
		x.Errorf("Unreadable was called for %d envelopes, want %d", len(versions), len(rubbish()))
	}
	future := 0
	for v := range versions {
		if v == 99 {
			future++
		}
	}
	if future != 1 {
		x.Errorf("Unreadable was called for %d envelopes of version 99, want one", future)
	}
}
