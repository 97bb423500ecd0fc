package bustest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/bus"
)

var queueTests = []testCase{
	{"Keep", testKeep},
	{"Whole", testWhole},
	{"Order", testOrder},
	{"Compete", testCompete},
	{"Once", testOnce},
	{"Prefetch", testPrefetch},
	{"Apart", testApart},
	{"Publishers", testPublishers},
	{"Doubles", testDoubles},
	{"Depth", testDepth},
	{"Purge", testPurge},
}

func testKeep(x *bed) {
	ids := names("a", 20)
	sender := x.b.Open(x.T)
	x.publish(sender, queue, ids...)
	if err := sender.Close(); err != nil {
		x.Fatalf("Close = %v", err)
	}
	b := x.open()
	in := x.receive(b, bus.Subscription{At: queue})
	in.take(ids...)
	in.onlyAt(b, "fence")
}

func testWhole(x *bed) {
	e := &bus.Envelope{
		ID: "whole-1", Type: "test.whole", Time: 1, Source: "hub/a", Destination: "agent/b", ReplyTo: "hub.control.a",
		Correlation: "c", Task: "t", Owner: "o", Epoch: 1<<62 + 1, Seq: 3, Deadline: 4, Chain: []string{"x", "y"},
		Principal: &auth.Principal{ID: "p", Roles: []string{"r"}}, Label: "caller",
		Trace: map[string]string{"traceparent": "00-1-2-00"}, ContentType: "text/plain",
		Signature: &bus.Signature{Key: "k", Value: []byte{0, 255}},
		Body:      json.RawMessage(`{"a":[1,9007199254740993,"<&>  é\u0000"]}`),
	}
	b := x.open()
	in := x.receive(b, bus.Subscription{At: queue})
	heard := x.receive(b, bus.Subscription{At: topic})
	for _, to := range []bus.Address{queue, topic} {
		if err := b.Publish(x.context(), to, e); err != nil {
			x.Fatalf("Publish(%s) = %v", to, err)
		}
	}
	d := in.next()
	x.same(e, d.Envelope)
	in.ack(d)
	x.same(e, heard.next().Envelope)
}

func testOrder(x *bed) {
	ids := names("a", 500)
	b := x.open()
	x.publish(b, queue, ids[:250]...)
	in := x.receive(b, bus.Subscription{At: queue, Prefetch: 16})
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for _, id := range ids[250:] {
			if err := b.Publish(x.context(), queue, letter(id)); err != nil {
				x.Errorf("Publish(%q) = %v", id, err)
			}
		}
	})
	in.take(ids...)
}

// testCompete has as many envelopes as receivers: each must hold one.
func testCompete(x *bed) {
	one, two := x.open(), x.open()
	ins := make([]*inbox, 3)
	for i, b := range []bus.Bus{one, one, two} {
		ins[i] = x.receive(b, bus.Subscription{At: queue})
	}
	x.publish(one, queue, names("a", len(ins))...)
	held := map[string]bool{}
	for _, in := range ins {
		held[in.next().ID] = true
	}
	if len(held) != len(ins) {
		x.Errorf("%d receivers hold %v", len(ins), held)
	}
}

// testOnce counts the deliveries of several receivers.
func testOnce(x *bed) {
	want := map[string]int{"fence": 1}
	for _, id := range names("a", 300) {
		want[id] = 1
	}
	one, two := x.open(), x.open()
	ctx, stop := context.WithCancel(x.context())
	got := make(chan *bus.Delivery)
	var wg sync.WaitGroup
	for _, b := range []bus.Bus{one, one, two, two} {
		wg.Go(func() { x.forward(ctx, b, got) })
	}
	x.publish(one, queue, names("a", 300)...)
	counts, fenced := map[string]int{}, false
	for len(counts) < len(want) {
		if len(counts) == len(want)-1 && !fenced {
			fenced = true
			x.publish(one, queue, "fence")
		}
		select {
		case d := <-got:
			counts[d.ID]++
		case <-ctx.Done():
			x.Fatalf("%d of %d envelopes arrived", len(counts), len(want))
		}
	}
	stop()
	wg.Wait()
	if diff := cmp.Diff(want, counts); diff != "" {
		x.Errorf("arrivals mismatch (-want +got):\n%s", diff)
	}
}

// forward acknowledges deliveries and passes them on, until ctx ends.
func (x *bed) forward(ctx context.Context, b bus.Bus, to chan<- *bus.Delivery) {
	for d, err := range b.Receive(ctx, bus.Subscription{At: queue, Prefetch: 5}) {
		if err != nil {
			x.Errorf("Receive = %v", err)
			return
		}
		if err := d.Ack(x.context()); err != nil {
			x.Errorf("Ack(%q) = %v", d.ID, err)
		}
		select {
		case to <- d:
		case <-ctx.Done():
			return
		}
	}
}

// testPrefetch has a third envelope that the first receiver must not hold, and then many: a receiver that
// holds too many may have been too slow to get the third one.
func testPrefetch(x *bed) {
	b := x.open()
	x.publish(b, queue, "a", "b", "c", "d")
	in := x.receive(b, bus.Subscription{At: queue, Prefetch: 2})
	a := in.hold("a")
	in.hold("b")
	other := x.receive(x.open(), bus.Subscription{At: queue})
	c := other.hold("c")
	in.ack(a)
	in.hold("d")
	other.ack(c)
	more := names("e", 20)
	x.publish(b, queue, more...)
	other.take(more...)
}

// testApart publishes at addresses that are almost the same.
func testApart(x *bed) {
	b := x.open()
	in := x.receive(b, bus.Subscription{At: queue})
	for i, name := range []string{queue.Name + ".x", queue.Name + "x", "agent.task", "AGENT.task.bustest", "agent.task_bustest", "agent-task-bustest"} {
		x.publish(b, bus.Queue(name), fmt.Sprint("elsewhere", i))
		x.publish(b, bus.Topic(name), fmt.Sprint("topic", i))
	}
	x.publish(b, bus.Topic(queue.Name), "topic")
	in.onlyAt(b, "fence")
	there := x.receive(b, bus.Subscription{At: bus.Queue("agent-task-bustest")})
	there.take("elsewhere5")
}

func testPublishers(x *bed) {
	b := x.open()
	var wg sync.WaitGroup
	var all []string
	for p := range 8 {
		ids := names(fmt.Sprintf("p%d-", p), 50)
		all = append(all, ids...)
		wg.Go(func() {
			for _, id := range ids {
				if err := b.Publish(x.context(), queue, letter(id)); err != nil {
					x.Errorf("Publish(%q) = %v", id, err)
				}
			}
		})
	}
	wg.Wait()
	in := x.receive(b, bus.Subscription{At: queue, Prefetch: 100})
	for id, n := range in.drain(all...) {
		if n != 1 {
			x.Errorf("%q arrived %d times", id, n)
		}
	}
}

// testDoubles publishes the same id twice, and at another queue.
func testDoubles(x *bed) {
	b := x.open()
	other := bus.Queue("agent.task.other")
	x.publish(b, queue, "a", "a", "b")
	x.publish(b, other, "a")
	in := x.receive(b, bus.Subscription{At: queue})
	in.take("a")
	if !x.f.Dedupes {
		in.take("a")
	}
	in.take("b")
	if x.f.Dedupes {
		x.publish(b, queue, "a")
	}
	in.onlyAt(b, "fence")
	x.receive(b, bus.Subscription{At: other}).take("a")
}

func testDepth(x *bed) {
	b := x.open()
	op, ok := b.(bus.Operator)
	if !ok {
		x.lacks("bus.Operator")
		return
	}
	// A broker may count a message later than it confirms it, as NATS does for consumers.
	becomes := func(want string, ok func(d bus.Depth) bool) {
		x.Helper()
		for end := time.Now().Add(x.f.Patience); ; {
			d, err := op.Depth(x.context(), queue)
			if err != nil {
				x.Fatalf("Depth = %v", err)
			}
			if ok(d) {
				return
			}
			if time.Now().After(end) {
				x.Fatalf("Depth = %+v, want %s", d, want)
			}
		}
	}
	becomes("none without messages", func(d bus.Depth) bool { return d == bus.Depth{} })
	x.publish(b, queue, "a", "b", "c")
	becomes("3 ready", func(d bus.Depth) bool { return d == bus.Depth{Ready: 3} })
	in := x.receive(b, bus.Subscription{At: queue})
	a := in.hold("a")
	held := int64(1)
	if x.f.HidesHeld {
		held = 0
	}
	becomes(fmt.Sprintf("2 ready, %d held", held), func(d bus.Depth) bool { return d.Ready == 2 && d.Held == held })
	in.ack(a)
	bb := in.hold("b")
	becomes(fmt.Sprintf("%d in all after Ack", 1+held), func(d bus.Depth) bool { return d.Ready+d.Held == 1+held })
	in.ack(bb)
	in.take("c")
	in.stop()
	x.publish(b, queue, "d")
	x.receive(b, bus.Subscription{At: queue, Prefetch: 2}).hold("d")
	becomes("a receiver that has room", func(d bus.Depth) bool { return d.Receivers >= 1 })
	if _, err := op.Depth(x.context(), topic); !isInvalid(err) {
		x.Errorf("Depth(%s) = %v, want ErrInvalid", topic, err)
	}
}

func testPurge(x *bed) {
	b := x.open()
	op, ok := b.(bus.Operator)
	if !ok {
		x.lacks("bus.Operator")
		return
	}
	other := bus.Queue("agent.task.other")
	x.publish(b, queue, "a", "b", "c")
	x.publish(b, other, "d")
	if n, err := op.Purge(x.context(), queue); n != 3 || err != nil {
		x.Errorf("Purge = %d, %v, want 3", n, err)
	}
	if n, err := op.Purge(x.context(), bus.Queue("agent.task.nobody")); n != 0 || err != nil {
		x.Errorf("Purge of a queue without messages = %d, %v", n, err)
	}
	in := x.receive(b, bus.Subscription{At: queue})
	in.onlyAt(b, "fence")
	x.receive(b, bus.Subscription{At: other}).take("d")
	if _, err := op.Purge(x.context(), topic); !isInvalid(err) {
		x.Errorf("Purge(%s) = %v, want ErrInvalid", topic, err)
	}
}
