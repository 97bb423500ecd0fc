package bustest

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
)

var settleTests = []testCase{
	{"Ack", testAck},
	{"Nak", testNak},
	{"NakLater", testNakLater},
	{"SettleTwice", testSettleTwice},
	{"Break", testBreak},
	{"End", testEnd},
	{"CloseGivesBack", testCloseGivesBack},
	{"CloseWhileLeaving", testCloseWhileLeaving},
	{"CloseWhileTaking", testCloseWhileTaking},
	{"LateSettle", testLateSettle},
	{"Lease", testLease},
	{"Extend", testExtend},
}

func testAck(x *bed) {
	b := x.open()
	x.publish(b, queue, "a", "b")
	in := x.receive(b, bus.Subscription{At: queue, Prefetch: 2})
	a := in.hold("a")
	in.hold("b")
	in.ack(a)
	in.stop()
	again := x.receive(b, bus.Subscription{At: queue})
	again.take("b")
	again.onlyAt(b, "fence")
}

func testNak(x *bed) {
	b := x.open()
	x.publish(b, queue, "a")
	in := x.receive(b, bus.Subscription{At: queue})
	last := 0
	for range bus.MaxDeliveries - 1 {
		d := in.hold("a")
		if d.Number <= last {
			x.Errorf("number %d comes after %d", d.Number, last)
		}
		last = d.Number
		in.nak(d)
	}
	in.take("a")
	in.onlyAt(b, "fence")
}

// testNakLater has other envelopes that arrive during the delay of one.
func testNakLater(x *bed) {
	b := x.open()
	x.publish(b, queue, "a", "b", "c")
	in := x.receive(b, bus.Subscription{At: queue})
	if err := in.hold("a").Nak(x.context(), 300*time.Millisecond); err != nil {
		x.Fatalf("Nak = %v", err)
	}
	in.drain("a", "b", "c")
	in.onlyAt(b, "fence")
}

func testSettleTwice(x *bed) {
	b := x.open()
	x.publish(b, queue, "a", "b")
	in := x.receive(b, bus.Subscription{At: queue})
	a := in.hold("a")
	in.ack(a)
	in.nak(a)
	if err := a.DeadLetter(x.context(), "too late"); err != nil {
		x.Errorf("DeadLetter after Ack = %v", err)
	}
	if err := a.Extend(x.context()); err != nil {
		x.Errorf("Extend after Ack = %v", err)
	}
	d := in.hold("b")
	in.nak(d)
	in.ack(d)
	in.take("b")
	in.onlyAt(b, "fence")
	x.receive(b, bus.Subscription{At: bus.Dead}).onlyAt(b, "no other")
}

// testBreak leaves the loop by break.
func testBreak(x *bed) {
	b := x.open()
	x.publish(b, queue, "a", "b")
	ctx := x.context()
	n := 0
	for d, err := range b.Receive(ctx, bus.Subscription{At: queue, Prefetch: 2}) {
		if err != nil {
			x.Fatalf("Receive = %v", err)
		}
		if n++; n == 2 {
			if err := d.Ack(ctx); err != nil {
				x.Fatal(err)
			}
			break
		}
	}
	in := x.receive(x.open(), bus.Subscription{At: queue})
	in.take("a")
	in.onlyAt(b, "fence")
}

// testEnd leaves the loop by the end of its context, which is no error.
func testEnd(x *bed) {
	b := x.open()
	x.publish(b, queue, "a")
	in := x.receive(b, bus.Subscription{At: queue})
	in.hold("a")
	in.leave()
	if err := in.ended(); err != nil {
		x.Errorf("Receive ended with %v", err)
	}
	again := x.receive(x.open(), bus.Subscription{At: queue})
	again.take("a")
	ctx, cancel := context.WithCancel(x.context())
	cancel()
	for d, err := range b.Receive(ctx, bus.Subscription{At: queue}) {
		x.Errorf("Receive with a context that has ended yields %v, %v", d, err)
	}
}

func testCloseGivesBack(x *bed) {
	b, c := x.open(), x.open()
	x.publish(b, queue, "a")
	in := x.receive(c, bus.Subscription{At: queue})
	in.hold("a")
	if err := c.Close(); err != nil {
		x.Fatalf("Close = %v", err)
	}
	_ = in.ended()
	x.receive(b, bus.Subscription{At: queue}).take("a")
}

// testCloseWhileLeaving closes the bus while its loop is ending: Close must wait until held
// envelopes are returned to the queue.
func testCloseWhileLeaving(x *bed) {
	b := x.open()
	for _, id := range names("a", 20) {
		c := x.open()
		x.publish(b, queue, id)
		in := x.receive(c, bus.Subscription{At: queue, Lease: longLease})
		in.hold(id)
		in.leave()
		if err := c.Close(); err != nil {
			x.Fatalf("Close = %v", err)
		}
		_ = in.ended()
		again := x.receive(b, bus.Subscription{At: queue, Lease: longLease})
		again.take(id) // long before its lease would end
		again.stop()
	}
}

// testCloseWhileTaking closes the bus while deliveries arrive: these are returned to the queue,
// too.
func testCloseWhileTaking(x *bed) {
	b := x.open()
	for _, id := range names("a", 4) {
		c := x.open()
		ids := names(id+"-", 6)
		for _, id := range ids {
			if err := b.Publish(x.context(), queue, x.sized(id, 256<<10)); err != nil {
				x.Fatalf("Publish = %v", err)
			}
		}
		in := x.receive(c, bus.Subscription{At: queue, Prefetch: len(ids), Lease: longLease})
		in.hold(ids[0])
		closed := make(chan error)
		go func() { closed <- c.Close() }() // the test waits for it below
		taken := 1
		for more := true; more; {
			select {
			case <-in.got: // the loop takes the next one
				taken++
			case err := <-closed:
				if more = false; err != nil {
					x.Fatalf("Close = %v", err)
				}
			}
		}
		in.stop()
		x.Logf("of %d, %d were taken before the end", len(ids), taken)
		again := x.receive(b, bus.Subscription{At: queue, Prefetch: len(ids), Lease: longLease})
		again.drain(ids...) // long before their leases would end
		again.stop()
	}
}

// testLateSettle settles after the loop was left, which has no effect.
func testLateSettle(x *bed) {
	b := x.open()
	x.publish(b, queue, "a")
	in := x.receive(b, bus.Subscription{At: queue})
	d := in.hold("a")
	in.stop()
	again := x.receive(x.open(), bus.Subscription{At: queue})
	held := again.hold("a")
	if err := d.Nak(x.context(), 0); err != nil {
		x.Logf("late Nak = %v", err)
	}
	again.ack(held)
	again.onlyAt(b, "fence")
}

const (
	shortLease = 2 * time.Second
	// longLease is longer than the patience of the test: an envelope that comes again was
	// returned to the queue.
	longLease = time.Hour
)

// testLease has a live receiver that does not settle. A busy machine may acknowledge too late at
// the next receiver; then the test begins again with a longer lease.
func testLease(x *bed) {
	if !x.f.Leases {
		x.lacks("leases")
		return
	}
	b := x.open()
	for lease := shortLease; !x.leases(b, lease); lease *= 2 {
		if lease > x.f.Patience {
			x.Fatalf("the machine acknowledges nothing within a lease of %v", lease)
		}
	}
}

// leases reports whether the next receiver has acknowledged before the end of its own lease.
func (x *bed) leases(b bus.Bus, lease time.Duration) bool {
	x.Helper()
	s := bus.Subscription{At: bus.Queue("agent.task.bustest-" + lease.String()), Lease: lease}
	x.publish(b, s.At, "a")
	began := time.Now() // all leases begin later
	in := x.receive(b, s)
	defer in.stop()
	in.hold("a")
	other := x.receive(x.open(), s)
	defer other.stop()
	d := other.hold("a")
	if took := time.Since(began); took < lease*9/10 {
		x.Errorf("%q was given to another one after %v, want %v", d.ID, took, lease)
	}
	if d.Number < 2 {
		x.Errorf("number = %d, want 2", d.Number)
	}
	other.ack(d)
	if time.Since(began) >= time.Duration(d.Number)*lease*9/10 { // the earlier leases have ended before
		return false
	}
	other.onlyAt(b, "fence")
	return true
}

// testExtend holds an envelope for two leases. A busy machine may extend too late; then the test
// begins again with a longer lease.
func testExtend(x *bed) {
	b := x.open()
	for lease := shortLease; !x.extends(b, lease); lease *= 2 {
		if lease > x.f.Patience {
			x.Fatalf("the machine extends no lease of %v in time", lease)
		}
	}
}

// extends reports whether the test was fast enough to extend a lease each time before its end.
func (x *bed) extends(b bus.Bus, lease time.Duration) bool {
	x.Helper()
	id := lease.String()
	x.publish(b, queue, id)
	since := time.Now() // the lease begins later
	in := x.receive(b, bus.Subscription{At: queue, Lease: lease})
	d := in.hold(id)
	other := x.receive(x.open(), bus.Subscription{At: queue, Lease: lease})
	tick := time.NewTicker(lease / 5)
	defer tick.Stop()
	for range 12 {
		var again *bus.Delivery
		select {
		case <-tick.C:
		case again = <-other.got:
		}
		began := time.Now()
		err := error(nil)
		if again == nil {
			err = d.Extend(x.context())
		}
		if again == nil && err == nil && time.Since(since) < lease {
			since = began
			continue
		}
		if late := began.Sub(since); (again != nil || err != nil) && late < lease*9/10 {
			x.Fatalf("%v after the lease began, Extend = %v, and another one has %+v", late, err, again)
		}
		in.stop()
		other.stop()
		over := x.receive(b, bus.Subscription{At: queue})
		over.drain(id)
		over.stop()
		return false
	}
	in.ack(d)
	in.stop()
	other.onlyAt(b, "fence")
	return true
}
