package bustest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
)

var limitTests = []testCase{
	{"Sizes", testSizes},
	{"Addresses", testAddresses},
	{"Envelopes", testEnvelopes},
	{"EndedContext", testEndedContext},
	{"Close", testClose},
	{"Full", testFull},
}

func isInvalid(err error) bool { return errors.Is(err, bus.ErrInvalid) }

func testSizes(x *bed) {
	b := x.open()
	for _, to := range []bus.Address{queue, topic} {
		in := x.receive(b, bus.Subscription{At: to})
		large := x.sized("large", bus.MaxEnvelope)
		if err := b.Publish(x.context(), to, large); err != nil {
			x.Fatalf("Publish(%s) of the largest = %v", to, err)
		}
		if err := b.Publish(x.context(), to, x.sized("larger", bus.MaxEnvelope+1)); !errors.Is(err, bus.ErrTooLarge) {
			x.Errorf("Publish(%s) of one byte more = %v, want ErrTooLarge", to, err)
		}
		d := in.next()
		x.same(large, d.Envelope)
		in.ack(d)
		in.onlyAt(b, "fence")
	}
}

func testAddresses(x *bed) {
	b := x.open()
	long := strings.Repeat("a.", bus.MaxName/2-1)
	for _, at := range []bus.Address{bus.Queue(long + "aa"), bus.Topic(long + "aa"), bus.Queue("x"), bus.Queue("A-b_0.9")} {
		in := x.receive(b, bus.Subscription{At: at})
		in.onlyAt(b, "there")
	}
	for _, at := range []bus.Address{
		{},
		{Name: "a"},
		{Kind: 9, Name: "a"},
		bus.Queue(""), bus.Queue("."), bus.Queue("a."), bus.Queue(".a"), bus.Queue("a..b"), bus.Queue("a b"), bus.Queue("a.*"),
		bus.Queue("a.>"), bus.Queue("#"), bus.Queue("a/b"), bus.Queue("a\n"), bus.Queue("ä"), bus.Queue(long + "aaa"),
		bus.Topic("*"), bus.Topic(">"), bus.Topic("a.*"), bus.Topic("a.#"), bus.Topic(""), bus.Topic("a\x00"), bus.Topic("$SYS"),
	} {
		if err := b.Publish(x.context(), at, letter("a")); !isInvalid(err) {
			x.Errorf("Publish(%q) = %v, want ErrInvalid", at, err)
		}
		n := 0
		for d, err := range b.Receive(x.context(), bus.Subscription{At: at}) {
			if n++; d != nil || !isInvalid(err) || n > 1 {
				x.Fatalf("Receive(%q) yields %v, %v, want ErrInvalid", at, d, err)
			}
		}
		if n == 0 {
			x.Errorf("Receive(%q) yields nothing, want ErrInvalid", at)
		}
	}
}

func testEnvelopes(x *bed) {
	b := x.open()
	in := x.receive(b, bus.Subscription{At: queue})
	for name, alter := range map[string]func(*bus.Envelope){
		"id":     func(e *bus.Envelope) { e.ID = "" },
		"type":   func(e *bus.Envelope) { e.Type = "" },
		"source": func(e *bus.Envelope) { e.Source = "" },
		"body":   func(e *bus.Envelope) { e.Body = []byte("{") },
	} {
		e := letter("bad")
		alter(e)
		if err := b.Publish(x.context(), queue, e); !isInvalid(err) {
			x.Errorf("Publish of an envelope with a bad %s = %v, want ErrInvalid", name, err)
		}
	}
	odd := letter("v")
	odd.Version = 77 // Encode sets it
	odd.ID = "täter \"1\"\r\n: x"
	if err := b.Publish(x.context(), queue, odd); err != nil {
		x.Errorf("Publish of an odd id = %v", err)
	}
	in.take(odd.ID)
	in.onlyAt(b, "fence")
}

func testEndedContext(x *bed) {
	b := x.open()
	cause := errors.New("no more")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	for _, to := range []bus.Address{queue, topic} {
		in := x.receive(b, bus.Subscription{At: to})
		if err := b.Publish(ctx, to, letter("a")); !errors.Is(err, cause) {
			x.Errorf("Publish(%s) with an ended context = %v, want its cause", to, err)
		}
		in.onlyAt(b, "fence")
	}
}

func testClose(x *bed) {
	b, other := x.open(), x.open()
	var ins []*inbox
	for _, at := range []bus.Address{queue, topic} {
		ins = append(ins, x.receive(b, bus.Subscription{At: at}))
	}
	if err := b.Close(); err != nil {
		x.Errorf("Close = %v", err)
	}
	for _, in := range ins {
		if err := in.ended(); !errors.Is(err, bus.ErrClosed) {
			x.Errorf("Receive(%s) ended with %v, want ErrClosed", in.at, err)
		}
	}
	if err := b.Close(); err != nil {
		x.Errorf("second Close = %v", err)
	}
	for _, at := range []bus.Address{queue, topic} {
		if err := b.Publish(x.context(), at, letter("a")); !errors.Is(err, bus.ErrClosed) {
			x.Errorf("Publish(%s) = %v, want ErrClosed", at, err)
		}
		for d, err := range b.Receive(x.context(), bus.Subscription{At: at}) {
			if !errors.Is(err, bus.ErrClosed) {
				x.Fatalf("Receive(%s) yields %v, %v, want ErrClosed", at, d, err)
			}
		}
	}
	x.receive(other, bus.Subscription{At: queue}).onlyAt(other, "fence")
}

// refused publishes to a full broker, and returns the error. A busy broker may take some time to
// report that it is full, so Publish gets more time after an attempt of which it knows nothing.
func (x *bed) refused(b bus.Bus, e *bus.Envelope) error {
	for limit := 5 * time.Second; ; limit *= 2 {
		ctx, cancel := context.WithTimeout(x.context(), limit)
		err := b.Publish(ctx, queue, e)
		cancel()
		if unknown := errors.Is(err, bus.ErrUnknown) && !errors.Is(err, bus.ErrFull); !unknown || limit > x.f.Patience/4 {
			return err
		}
	}
}

// testFull also receives a waiting envelope while the broker is full.
func testFull(x *bed) {
	if x.b.Fill == nil {
		x.lacks("a way to fill it")
		return
	}
	b := x.open()
	x.publish(b, queue, "before")
	relieve := x.b.Fill(x.T)
	err := x.refused(b, x.sized("full", bus.MaxEnvelope/2))
	if !errors.Is(err, bus.ErrFull) {
		x.Errorf("Publish to a full broker = %v, want ErrFull", err)
	}
	in := x.receive(b, bus.Subscription{At: queue})
	in.take("before")
	relieve()
	x.publish(b, queue, "fence")
	if got := in.drain("fence"); got["full"] > 0 && !errors.Is(err, bus.ErrUnknown) {
		x.Errorf("%v was the error of Publish, but the envelope arrived", err)
	}
}
