package bustest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/bus"
)

// The addresses of the tests.
var (
	queue = bus.Queue("agent.task.bustest")
	topic = bus.Topic("worker.bustest")
)

// bed is the environment of a test.
type bed struct {
	*testing.T
	f Features
	b *Broker
}

// open returns another bus on the broker.
func (x *bed) open() bus.Bus {
	x.Helper()
	b := x.b.Open(x.T)
	x.Cleanup(func() {
		if err := b.Close(); err != nil {
			x.Errorf("Close = %v", err)
		}
	})
	return b
}

// context returns a context that ends after Features.Patience.
func (x *bed) context() context.Context {
	ctx, cancel := context.WithTimeoutCause(context.Background(), x.f.Patience, errors.New("the patience of the test ended"))
	x.Cleanup(cancel)
	return ctx
}

func letter(id string) *bus.Envelope {
	return &bus.Envelope{ID: id, Type: "test.letter", Source: "worker/bustest"}
}

func (x *bed) publish(b bus.Bus, to bus.Address, ids ...string) {
	x.Helper()
	for _, id := range ids {
		if err := b.Publish(x.context(), to, letter(id)); err != nil {
			x.Fatalf("Publish(%s, %q) = %v", to, id, err)
		}
	}
}

// inbox is a loop over Receive on a goroutine.
type inbox struct {
	x     *bed
	at    bus.Address
	got   chan *bus.Delivery // unbuffered: the loop waits for the test
	ready chan struct{}      // one for each call of Ready
	end   chan struct{}      // closed when the loop has ended
	err   error              // the error of the loop, readable after end
	leave context.CancelFunc
}

// receive starts to receive and returns when Ready was called.
func (x *bed) receive(b bus.Bus, s bus.Subscription) *inbox {
	x.Helper()
	in := x.start(b, s)
	in.awaitReady()
	return in
}

// start starts to receive.
func (x *bed) start(b bus.Bus, s bus.Subscription) *inbox {
	ctx, cancel := context.WithCancel(context.Background())
	in := &inbox{
		x: x, at: s.At, leave: cancel,
		got: make(chan *bus.Delivery), ready: make(chan struct{}, 1000), end: make(chan struct{}),
	}
	s.Ready = func() { in.ready <- struct{}{} }
	go in.run(ctx, b, s) // ends with ctx; stop waits for it
	x.Cleanup(in.stop)
	return in
}

func (in *inbox) run(ctx context.Context, b bus.Bus, s bus.Subscription) {
	defer close(in.end)
	for d, err := range b.Receive(ctx, s) {
		if in.err != nil {
			in.x.Errorf("received %v, %v after error %v", d, err, in.err)
			return
		}
		if err != nil {
			in.err = err
			continue // nothing may come after it
		}
		select {
		case in.got <- d:
		case <-ctx.Done():
			return
		}
	}
}

func (in *inbox) awaitReady() {
	in.x.Helper()
	select {
	case <-in.ready:
	case <-in.end:
		in.x.Fatalf("Receive(%s) ended with %v before it was ready", in.at, in.err)
	case <-time.After(in.x.f.Patience):
		in.x.Fatalf("Receive(%s) was never ready", in.at)
	}
}

// stop leaves the loop and waits for its end.
func (in *inbox) stop() {
	in.leave()
	in.ended()
}

// ended waits for the end of the loop and returns its error.
func (in *inbox) ended() error {
	in.x.Helper()
	select {
	case <-in.end:
		return in.err
	case <-time.After(in.x.f.Patience):
		in.x.Fatalf("Receive(%s) did not end", in.at)
		return nil
	}
}

// next returns the next delivery.
func (in *inbox) next() *bus.Delivery {
	in.x.Helper()
	select {
	case d := <-in.got:
		if d.At != in.at {
			in.x.Errorf("delivery %q at %s says it is at %s", d.ID, in.at, d.At)
		}
		if d.Number < 1 {
			in.x.Errorf("delivery %q has number %d, want at least 1", d.ID, d.Number)
		}
		return d
	case <-in.end:
		in.x.Fatalf("Receive(%s) ended with %v", in.at, in.err)
	case <-time.After(in.x.f.Patience):
		in.x.Fatalf("nothing arrived at %s", in.at)
	}
	return nil
}

// hold returns the next delivery, which must be that of id.
func (in *inbox) hold(id string) *bus.Delivery {
	in.x.Helper()
	d := in.next()
	if d.ID != id {
		in.x.Fatalf("%q arrived at %s, want %q", d.ID, in.at, id)
	}
	return d
}

// holdFirst is hold, but ignores other envelopes that come again because their leases have ended.
func (in *inbox) holdFirst(id string) *bus.Delivery {
	in.x.Helper()
	d := in.next()
	for d.ID != id && d.Number > 1 {
		d = in.next()
	}
	if d.ID != id {
		in.x.Fatalf("%q arrived at %s for the first time, want %q", d.ID, in.at, id)
	}
	return d
}

// take acknowledges the next deliveries, which must be those of ids.
func (in *inbox) take(ids ...string) {
	in.x.Helper()
	for _, id := range ids {
		in.ack(in.hold(id))
	}
}

// drain acknowledges deliveries until each of ids has arrived, and returns the number of
// deliveries by id.
func (in *inbox) drain(ids ...string) map[string]int {
	in.x.Helper()
	missing := map[string]bool{}
	for _, id := range ids {
		missing[id] = true
	}
	got := map[string]int{}
	for len(missing) > 0 {
		d := in.next()
		delete(missing, d.ID)
		got[d.ID]++
		in.ack(d)
	}
	return got
}

func (in *inbox) ack(d *bus.Delivery) {
	in.x.Helper()
	if err := d.Ack(in.x.context()); err != nil {
		in.x.Fatalf("Ack(%q) = %v", d.ID, err)
	}
}

func (in *inbox) nak(d *bus.Delivery) {
	in.x.Helper()
	if err := d.Nak(in.x.context(), 0); err != nil {
		in.x.Fatalf("Nak(%q) = %v", d.ID, err)
	}
}

// onlyAt fails the test unless fence, published now, is the next delivery.
func (in *inbox) onlyAt(b bus.Bus, fence string) {
	in.x.Helper()
	in.x.publish(b, in.at, fence)
	in.take(fence)
}

// names returns prefix with the numbers from 1 to n.
func names(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s%d", prefix, i+1)
	}
	return ids
}

// same fails the test unless got equals want, with the version that Encode sets.
func (x *bed) same(want, got *bus.Envelope) {
	x.Helper()
	sent := *want
	sent.Version = bus.Version
	if reflect.DeepEqual(&sent, got) { // cmp is slow with large ones
		return
	}
	if diff := cmp.Diff(&sent, got); diff != "" {
		x.Errorf("envelope %q mismatch (-want +got):\n%s", want.ID, diff)
	}
}

// lacks logs that the bus lacks the feature of a test.
func (x *bed) lacks(what string) { x.Logf("the bus does not have %s", what) }

// sized returns an envelope that has n bytes, encoded.
func (x *bed) sized(id string, n int) *bus.Envelope {
	x.Helper()
	e := letter(id)
	e.Body = json.RawMessage(`""`)
	b, err := e.Encode()
	if err != nil {
		x.Fatal(err)
	}
	e.Body = json.RawMessage(`"` + strings.Repeat("<", n-len(b)) + `"`)
	return e
}
