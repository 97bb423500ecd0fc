package session

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// message has the events of an epoch whose numbers begin with first.
type message struct {
	epoch, first int64
	events       []int
}

// execution is work of which several executions send numbered events to one receiver, over a
// transport that loses, repeats and reorders messages.
type execution struct {
	bounds Bounds[int]
	outbox *Outbox[int]
	epoch  int64
	// next is the next event; events are unique over all epochs.
	next int
	// sent are the events of this epoch, and accepted those that the receiver has accepted of it.
	sent, accepted []int
	// transit are the messages that may arrive, again and again.
	transit []message
	place   Place
}

// TestSession: whatever the transport does, the receiver accepts the events of the newest execution
// once and in their order, and the sender keeps those that are not acknowledged.
func TestSession(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := &execution{bounds: Bounds[int]{Size: func(e *int) int { return *e }}}
		x.begin(t)
		t.Repeat(map[string]func(*rapid.T){
			"":            x.check,
			"begin":       x.begin,
			"add":         x.add,
			"send":        x.send,
			"arrive":      x.arrive,
			"acknowledge": x.acknowledge,
			"replace":     x.replace,
		})
		for len(x.outbox.Events()) > 0 {
			x.receive(message{x.epoch, x.outbox.Acked() + 1, x.outbox.Events()})
			x.outbox.Acknowledge(x.place.Seq)
		}
		if diff := cmp.Diff(x.sent, x.accepted); diff != "" {
			t.Fatalf("events (-sent +accepted):\n%s", diff)
		}
	})
}

// begin begins another execution.
func (x *execution) begin(*rapid.T) {
	if x.outbox != nil {
		x.outbox.Discard()
	}
	x.epoch++
	x.outbox, x.place = &Outbox[int]{Bounds: &x.bounds}, Place{Epoch: x.epoch}
	x.sent, x.accepted = nil, nil
}

func (x *execution) add(t *rapid.T) {
	if x.outbox.Closed() {
		t.Skip("it has ended")
	}
	for range rapid.IntRange(1, 5).Draw(t, "events") {
		x.next++
		x.outbox.Add(x.next)
		x.sent = append(x.sent, x.next)
	}
}

func (x *execution) send(t *rapid.T) {
	all := x.outbox.Events()
	i := rapid.IntRange(0, len(all)).Draw(t, "from")
	n := rapid.IntRange(0, len(all)-i).Draw(t, "events")
	x.transit = append(x.transit, message{x.epoch, x.outbox.Acked() + 1 + int64(i), slices.Clone(all[i : i+n])})
}

func (x *execution) arrive(t *rapid.T) {
	if len(x.transit) == 0 {
		t.Skip("nothing was sent")
	}
	x.receive(rapid.SampledFrom(x.transit).Draw(t, "message"))
}

func (x *execution) receive(m message) {
	if class, skip := x.place.Classify(m.epoch, m.first, len(m.events)); class == Accept {
		x.accepted = append(x.accepted, m.events[skip:]...)
		x.place.Seq += int64(len(m.events) - skip)
	}
}

// acknowledge acknowledges events that are accepted: acknowledgements may be late, and in any order.
func (x *execution) acknowledge(t *rapid.T) {
	x.outbox.Acknowledge(rapid.Int64Range(-1, x.place.Seq).Draw(t, "seq"))
}

// replace ends the execution with another event in place of one that was never accepted.
func (x *execution) replace(t *rapid.T) {
	if x.outbox.Closed() || x.outbox.Last() == x.place.Seq {
		t.Skip("there is no such event")
	}
	seq := rapid.Int64Range(x.place.Seq+1, x.outbox.Last()).Draw(t, "seq")
	x.transit = slices.DeleteFunc(x.transit, func(m message) bool {
		return m.epoch == x.epoch && m.first+int64(len(m.events)) > seq // it was rejected
	})
	x.next++
	x.outbox.Replace(seq, x.next)
	x.sent = append(x.sent[:seq-1], x.next)
}

// check is called after each step.
func (x *execution) check(t *rapid.T) {
	if n := len(x.accepted); n > len(x.sent) || !slices.Equal(x.accepted, x.sent[:n]) {
		t.Fatalf("accepted are %v of %v", x.accepted, x.sent)
	}
	left, bytes := x.outbox.Events(), 0
	for _, e := range left {
		bytes += e
	}
	if !slices.Equal(left, x.sent[x.outbox.Acked():]) || x.outbox.Last() != int64(len(x.sent)) {
		t.Fatalf("the outbox has %v after %d of %v", left, x.outbox.Acked(), x.sent)
	}
	if x.outbox.bytes != bytes || x.bounds.Total.Load() != int64(len(left)) {
		t.Fatalf("the outbox counts %d bytes and %d events for %v", x.outbox.bytes, x.bounds.Total.Load(), left)
	}
}

// TestNumbersOutOfRange: numbers that no sender has given are a gap.
func TestNumbersOutOfRange(t *testing.T) {
	t.Parallel()
	for _, first := range []int64{-1 << 63, -1, 0, 7, 1<<63 - 1} {
		if c, skip := (Place{1, 5}).Classify(1, first, 10); c != Gap || skip != 0 {
			t.Errorf("Classify(%d) = %d, %d; want a gap", first, c, skip)
		}
	}
	if c, _ := (Place{1, 5}).Classify(2, 6, 1); c != Stale {
		t.Errorf("an event of a later epoch is of class %d, want stale", c)
	}
}

// TestRoom: a sender waits while the outbox is full, and until it is closed.
func TestRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		o := &Outbox[int]{Bounds: &Bounds[int]{
			Size: func(e *int) int { return *e }, Bytes: 100, Full: func(n int) bool { return n >= 3 },
		}}
		ctx, stop := context.WithCancel(t.Context())
		added := 0
		add := func(ctx context.Context, size int) (done chan bool) {
			done = make(chan bool, 1)
			go func() {
				mu.Lock()
				defer mu.Unlock()
				ok := o.Room(ctx, &mu, size)
				if ok {
					o.Add(size)
					added++
				}
				done <- ok
			}()
			synctest.Wait()
			return done
		}
		want := func(when string, n int) {
			t.Helper()
			synctest.Wait()
			if added != n {
				t.Errorf("%s, %d events were added, want %d", when, added, n)
			}
		}
		add(ctx, 1000)
		want("in an empty outbox", 1)
		add(ctx, 1)
		want("beside an event that is too large", 1)
		mu.Lock()
		o.Acknowledge(1)
		mu.Unlock()
		want("after it was acknowledged", 2)
		add(ctx, 1)
		add(ctx, 1)
		canceled := add(ctx, 1)
		want("in a full outbox", 4)
		stop()
		if <-canceled {
			t.Error("an event was added after the end of its context")
		}
		closed := add(t.Context(), 1)
		mu.Lock()
		o.Close()
		mu.Unlock()
		if <-closed {
			t.Error("an event was added to a closed outbox")
		}
		if got := o.Events(); !slices.Equal(got, []int{1, 1, 1}) {
			t.Errorf("the closed outbox has %v", got)
		}
		o.Discard()
		if len(o.Events()) != 0 || o.Total.Load() != 0 || o.Last() != 1 {
			t.Errorf("a discarded outbox has %v after %d", o.Events(), o.Last())
		}
	})
}

// TestOutboxUsesItsMemoryAgain: acknowledged events make room for the next ones, and are not kept alive.
func TestOutboxUsesItsMemoryAgain(t *testing.T) {
	t.Parallel()
	o := &Outbox[*int]{Bounds: &Bounds[*int]{Size: func(**int) int { return 1 }}}
	for i := range 10 {
		o.Add(&i)
	}
	all, room := o.events, cap(o.events)
	o.Acknowledge(7)
	if left := o.Events(); len(left) != 3 || *left[0] != 7 || cap(o.events) != room || all[3] != nil {
		t.Errorf("%d events are left, with room for %d of %d, and behind the last one is %v", len(left), cap(o.events), room, all[3])
	}
	o.Acknowledge(10)
	if o.events != nil || o.bytes != 0 {
		t.Errorf("an empty outbox keeps %v of %d bytes", o.events, o.bytes)
	}
}
