package bustest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
)

var outageTests = []testCase{
	{"Restart", testRestart},
	{"PublishDuringOutage", testPublishDuringOutage},
	{"PublishAcrossOutage", testPublishAcrossOutage},
	{"NothingLost", testNothingLost},
	{"HoldAcrossOutage", testHoldAcrossOutage},
	{"CloseDuringOutage", testCloseDuringOutage},
}

// restarts reports whether the broker can be stopped.
func (x *bed) restarts() bool {
	if x.b.Stop == nil || x.b.Start == nil {
		x.lacks("a way to restart its broker")
		return false
	}
	return true
}

// testRestart has receivers that must reconnect by themselves.
func testRestart(x *bed) {
	if !x.restarts() {
		return
	}
	b, other := x.open(), x.open()
	x.publish(b, bus.Queue("agent.task.nobody"), "kept")
	in := x.receive(b, bus.Subscription{At: queue})
	heard := x.receive(other, bus.Subscription{At: topic})
	in.onlyAt(other, "before")
	for i := range 2 {
		x.b.Stop(x.T)
		x.b.Start(x.T)
		in.awaitReady()
		heard.awaitReady()
		x.publish(other, queue, fmt.Sprint("after", i))
		in.drain(fmt.Sprint("after", i)) // "before" may come again
		heard.onlyAt(b, fmt.Sprint("heard", i))
	}
	if x.f.Durable {
		x.receive(b, bus.Subscription{At: bus.Queue("agent.task.nobody")}).take("kept")
	}
}

// testPublishDuringOutage wants an error in time, and wants it to be true.
func testPublishDuringOutage(x *bed) {
	if !x.restarts() {
		return
	}
	b := x.open()
	in := x.receive(b, bus.Subscription{At: queue})
	x.b.Stop(x.T)
	lost := make(map[string]error)
	x.prompt("Publish", func(ctx context.Context) {
		id := fmt.Sprint("lost", len(lost))
		lost[id] = b.Publish(ctx, queue, letter(id))
		if err := lost[id]; !errors.Is(err, bus.ErrUnavailable) && !errors.Is(err, bus.ErrUnknown) {
			x.Errorf("Publish during an outage = %v, want ErrUnavailable or ErrUnknown", err)
		}
	})
	x.b.Start(x.T)
	in.awaitReady()
	x.publish(b, queue, "fence")
	got := in.drain("fence")
	for id, err := range lost {
		if got[id] > 0 && !errors.Is(err, bus.ErrUnknown) {
			x.Errorf("%v was the error of Publish, but the envelope arrived", err)
		}
	}
}

// attempts is the number of calls that a busy machine may delay in a row.
const attempts = 3

// prompt calls f with a context of a second, and fails the test unless it returns soon after it.
// A busy machine may delay one call, so f may be called again: a bus that ignores the context
// delays all of them.
func (x *bed) prompt(name string, f func(context.Context)) {
	x.Helper()
	var took time.Duration
	for range attempts {
		ctx, cancel := context.WithTimeout(x.context(), time.Second)
		began := time.Now()
		f(ctx)
		took = time.Since(began)
		cancel()
		if took <= 5*time.Second {
			return
		}
	}
	x.Errorf("%s with a second to do it took %v, and no less before", name, took)
}

// testPublishAcrossOutage publishes without a pause, and again after errors that allow it.
func testPublishAcrossOutage(x *bed) {
	if !x.restarts() {
		return
	}
	sender, b := x.open(), x.open()
	in := x.receive(b, bus.Subscription{At: queue, Prefetch: 10})
	ctx, stop := context.WithCancel(x.context())
	confirmed := make(chan string, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if id := fmt.Sprint("a", i); x.insist(ctx, sender, id) {
				select {
				case confirmed <- id:
				case <-ctx.Done():
				}
			}
		}
	})
	in.drain(<-confirmed, <-confirmed)
	x.b.Stop(x.T)
	x.b.Start(x.T)
	in.awaitReady()
	ids := []string{<-confirmed, <-confirmed, <-confirmed, <-confirmed}
	in.drain(ids[2:]...) // envelopes that were confirmed before the outage may be lost
}

// insist publishes an envelope until it is confirmed.
func (x *bed) insist(ctx context.Context, b bus.Bus, id string) bool {
	for ctx.Err() == nil {
		try, cancel := context.WithTimeout(ctx, time.Second)
		err := b.Publish(try, queue, letter(id))
		cancel()
		switch {
		case err == nil:
			return true
		case ctx.Err() != nil:
		case !errors.Is(err, bus.ErrUnavailable) && !errors.Is(err, bus.ErrUnknown):
			x.Errorf("Publish(%q) during an outage = %v, want ErrUnavailable or ErrUnknown", id, err)
			return false
		}
	}
	return false
}

// senders is the number of goroutines that publish in testNothingLost.
const senders = 8

// testNothingLost restarts the broker while many goroutines publish and none receives. Then it
// receives all confirmed envelopes.
func testNothingLost(x *bed) {
	if !x.restarts() || !x.f.Durable {
		return
	}
	sender, b := x.open(), x.open()
	ctx, stop := context.WithCancel(x.context())
	tried := make(chan string) // the id of an envelope, or "" if it may be lost
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	for s := range senders {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("a%d-%d", s, i)
				try, cancel := context.WithTimeout(ctx, time.Second)
				if sender.Publish(try, queue, letter(id)) != nil {
					id = ""
				}
				cancel()
				select {
				case tried <- id:
				case <-ctx.Done():
				}
			}
		})
	}
	var ids []string
	try := func(n int) {
		for range n {
			if id := <-tried; id != "" {
				ids = append(ids, id)
			}
		}
	}
	try(20 * senders)
	x.b.Stop(x.T)
	try(3 * senders) // some began before
	x.b.Start(x.T)
	x.publish(b, queue, "after")
	try(20 * senders)
	stop()
	wg.Wait()
	x.Logf("%d confirmed", len(ids))
	x.receive(b, bus.Subscription{At: queue, Prefetch: 10}).drain(append(ids, "after")...)
}

// testHoldAcrossOutage settles deliveries that were received before the outage. Nothing hangs,
// and unacknowledged envelopes come again.
func testHoldAcrossOutage(x *bed) {
	if !x.restarts() {
		return
	}
	b := x.open()
	ids := names("a", attempts)
	x.publish(b, queue, append(ids, "b")...)
	in := x.receive(b, bus.Subscription{At: queue, Prefetch: len(ids) + 1, Lease: shortLease})
	var held []*bus.Delivery
	for _, id := range ids {
		held = append(held, in.holdFirst(id))
	}
	in.holdFirst("b")
	x.b.Stop(x.T)
	x.prompt("Ack", func(ctx context.Context) {
		x.Logf("Ack during the outage = %v", held[0].Ack(ctx))
		held = held[1:]
	})
	x.b.Start(x.T)
	if x.f.Durable {
		in.drain("b")
	} else {
		in.awaitReady()
		in.onlyAt(b, "fence")
	}
}

func testCloseDuringOutage(x *bed) {
	if !x.restarts() {
		return
	}
	b := x.open()
	in := x.receive(b, bus.Subscription{At: queue})
	heard := x.receive(b, bus.Subscription{At: topic})
	x.b.Stop(x.T)
	if err := b.Close(); err != nil {
		x.Errorf("Close during the outage = %v", err)
	}
	for _, in := range []*inbox{in, heard} {
		if err := in.ended(); !errors.Is(err, bus.ErrClosed) {
			x.Errorf("Receive(%s) ended with %v, want ErrClosed", in.at, err)
		}
	}
}
