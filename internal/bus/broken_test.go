package bus_test

import (
	"context"
	"iter"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/testing/suite/bustest"
)

// defect breaks one promise of a bus.
type defect struct {
	// found names the tests of the suite that must fail, separated by bars.
	found    string
	bus      func(b *broken)
	operator func(b *broken) bus.Bus
	broker   func(b *bustest.Broker)
}

// settling returns a defect of settlements.
func settling(found string, settle func(b *broken, d *bus.Delivery, s bus.Settlement) bus.Settlement) defect {
	return defect{found: found, bus: func(b *broken) {
		arriving(b, func(d *bus.Delivery) {
			do := d.Settle
			if do == nil {
				return
			}
			d.Settle = func(ctx context.Context, s bus.Settlement) error {
				if s = settle(b, d, s); s.Disposition == 0 {
					return nil
				}
				return do(ctx, s)
			}
		})
	}}
}

// arriving alters received deliveries.
func arriving(b *broken, alter func(d *bus.Delivery)) {
	do := b.receive
	b.receive = func(ctx context.Context, s bus.Subscription) iter.Seq2[*bus.Delivery, error] {
		return func(yield func(*bus.Delivery, error) bool) {
			for d, err := range do(ctx, s) {
				if d != nil {
					alter(d)
				}
				if !yield(d, err) {
					return
				}
			}
		}
	}
}

// subscribing returns a defect that alters subscriptions.
func subscribing(found string, alter func(s *bus.Subscription)) defect {
	return defect{found: found, bus: func(b *broken) {
		do := b.receive
		b.receive = func(ctx context.Context, s bus.Subscription) iter.Seq2[*bus.Delivery, error] {
			alter(&s)
			return do(ctx, s)
		}
	}}
}

// publishing returns a defect of Publish. send is the sound implementation.
func publishing(found string, publish func(ctx context.Context, m message, send func(message) error) error) defect {
	return defect{found: found, bus: func(b *broken) {
		do := b.publish
		b.publish = func(ctx context.Context, to bus.Address, e *bus.Envelope) error {
			return publish(ctx, message{to, e}, func(m message) error { return do(ctx, m.to, m.e) })
		}
	}}
}

type message struct {
	to bus.Address
	e  *bus.Envelope
}

// renaming returns a defect that renames addresses, for publishers and receivers.
func renaming(found string, rename func(a bus.Address) bus.Address) defect {
	subscribe := subscribing("", func(s *bus.Subscription) { s.At = rename(s.At) })
	send := publishing("", func(_ context.Context, m message, send func(message) error) error {
		return send(message{rename(m.to), m.e})
	})
	return defect{found: found, bus: func(b *broken) { subscribe.bus(b); send.bus(b) }}
}

// instead returns a settle that replaces one disposition by another one.
func instead(from, to bus.Disposition) func(*broken, *bus.Delivery, bus.Settlement) bus.Settlement {
	return func(_ *broken, _ *bus.Delivery, s bus.Settlement) bus.Settlement {
		if s.Disposition == from {
			s.Disposition = to
		}
		return s
	}
}

var defects = map[string]defect{
	"ack forgotten":      settling("Ack|Keep", instead(bus.Acked, 0)),
	"nak is ack":         settling("Nak|NakLater|DeadAfterNaks", instead(bus.Refused, bus.Acked)),
	"nak is lease":       settling("Nak|DeadAfterNaks", instead(bus.Refused, bus.Extended)),
	"dead letter is ack": settling("DeadLetter|DeadLarge", instead(bus.DeadLettered, bus.Acked)),
	"extend forgotten":   settling("Extend", instead(bus.Extended, 0)),
	"endless": settling("DeadAfterNaks", func(b *broken, d *bus.Delivery, s bus.Settlement) bus.Settlement {
		if s.Disposition == bus.Refused {
			_ = b.Memory.Publish(context.Background(), d.At, d.Envelope)
			s.Disposition = bus.Acked
		}
		return s
	}),
	"settled twice": settling("SettleTwice|LateSettle", func(b *broken, d *bus.Delivery, s bus.Settlement) bus.Settlement {
		if s.Disposition == bus.Refused || s.Disposition == bus.DeadLettered {
			_ = b.Memory.Publish(context.Background(), d.At, d.Envelope)
			s.Disposition = bus.Acked
		}
		return s
	}),
	"dead may die": settling("DeadStays", func(_ *broken, d *bus.Delivery, s bus.Settlement) bus.Settlement {
		if d.At == bus.Dead && d.Number >= bus.MaxDeliveries {
			s.Disposition = bus.Acked
		}
		return s
	}),
	"prefetch ignored": subscribing("Prefetch", func(s *bus.Subscription) { s.Prefetch = 100 }),
	"one at a time":    subscribing("Prefetch|Ack", func(s *bus.Subscription) { s.Prefetch = 1 }),
	"lease ignored":    subscribing("Lease|DeadAfterLeases", func(s *bus.Subscription) { s.Lease = time.Hour }),
	"never ready":      subscribing("Order", func(s *bus.Subscription) { s.Ready = nil }),
	"names folded": renaming("Apart|TopicReachesNobodyElse", func(a bus.Address) bus.Address {
		a.Name = strings.ToLower(a.Name)
		return a
	}),
	"topics by prefix": renaming("TopicReachesNobodyElse", func(a bus.Address) bus.Address {
		if a.Kind == bus.TopicKind {
			a.Name, _, _ = strings.Cut(a.Name, ".")
		}
		return a
	}),
	"topics are queues": renaming("TopicReachesAll|TopicKeepsNothing|SlowReader", func(a bus.Address) bus.Address {
		if a.Kind == bus.TopicKind && a.Check() == nil {
			return bus.Queue("topic." + a.Name)
		}
		return a
	}),
	"queues are topics": renaming("Keep|Compete|Ack", func(a bus.Address) bus.Address {
		if a.Kind == bus.QueueKind && a.Check() == nil {
			return bus.Topic("queue." + a.Name)
		}
		return a
	}),
	"any address": renaming("Addresses", func(a bus.Address) bus.Address {
		if a.Check() != nil {
			return bus.Queue("x")
		}
		return a
	}),
	"some lost": publishing("Keep|Order|Once|Publishers", func(_ context.Context, m message, send func(message) error) error {
		if strings.HasSuffix(m.e.ID, "7") {
			return nil
		}
		return send(m)
	}),
	"some twice": publishing("Keep|Order|Once|Publishers", func(_ context.Context, m message, send func(message) error) error {
		if strings.HasSuffix(m.e.ID, "7") {
			_ = send(m)
		}
		return send(m)
	}),
	"members lost": publishing("Whole", func(_ context.Context, m message, send func(message) error) error {
		e := *m.e
		e.Trace = nil
		return send(message{m.to, &e})
	}),
	"large ones lost": publishing("Sizes|DeadLarge", func(_ context.Context, m message, send func(message) error) error {
		if len(m.e.Body) > 512<<10 {
			return nil
		}
		return send(m)
	}),
	"context ignored": {found: "EndedContext", bus: func(b *broken) {
		do := b.publish
		b.publish = func(_ context.Context, to bus.Address, e *bus.Envelope) error {
			return do(context.Background(), to, e)
		}
	}},
	"fullness unsaid": publishing("Full", func(_ context.Context, m message, send func(message) error) error {
		_ = send(m)
		return nil
	}),
	"lost in an outage": {found: "PublishDuringOutage", bus: func(b *broken) {
		b.publish = func(ctx context.Context, to bus.Address, e *bus.Envelope) error {
			if err := b.out.over(ctx); err != nil {
				return nil
			}
			return b.Memory.Publish(ctx, to, e)
		}
	}},
	"patient in an outage": {found: "PublishDuringOutage", bus: func(b *broken) {
		b.publish = func(_ context.Context, to bus.Address, e *bus.Envelope) error {
			ctx, cancel := context.WithTimeout(context.Background(), 6*time.Second)
			defer cancel()
			if err := b.out.over(ctx); err != nil {
				return err
			}
			return b.Memory.Publish(ctx, to, e)
		}
	}},
	"confirmed too early": {found: "NothingLost", bus: func(b *broken) {
		b.publish = func(ctx context.Context, to bus.Address, e *bus.Envelope) error {
			now, cancel := context.WithCancel(ctx)
			cancel()
			if b.out.over(now) != nil {
				return nil
			}
			return b.Memory.Publish(ctx, to, e)
		}
	}},
	"reason lost": {found: "DeadLetter|DeadAfterNaks|DeadAfterLeaving|DeadAfterLeases|Poison|PoisonAtDead", bus: func(b *broken) {
		arriving(b, func(d *bus.Delivery) { d.Reason = "" })
	}},
	"poison lost":          {found: "Poison|PoisonAtDead", broker: func(b *bustest.Broker) { b.Poison = func(*testing.T, bus.Address, []byte) {} }},
	"close does not":       {found: "Close", bus: func(b *broken) { b.close = func() error { return nil } }},
	"operator lies":        {found: "Depth|Purge", operator: func(b *broken) bus.Bus { return wrongOperator{b} }},
	"leaving acknowledges": {found: "Break|End|DeadAfterLeaving", bus: leavingAcks},
	"unbounded topics":     {found: "SlowReader", bus: unbounded},
}

// wrongOperator returns wrong results from every method.
type wrongOperator struct{ *broken }

func (wrongOperator) Depth(context.Context, bus.Address) (bus.Depth, error) { return bus.Depth{}, nil }

func (o wrongOperator) Purge(context.Context, bus.Address) (int64, error) { return 3, nil }

func leavingAcks(b *broken) {
	do := b.receive
	b.receive = func(ctx context.Context, s bus.Subscription) iter.Seq2[*bus.Delivery, error] {
		return func(yield func(*bus.Delivery, error) bool) {
			inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
			defer cancel()
			var all []*bus.Delivery
			defer context.AfterFunc(ctx, func() {
				for _, d := range all {
					_ = d.Ack(ctx)
				}
				cancel()
			})()
			for d, err := range do(inner, s) {
				if d != nil {
					all = append(all, d)
				}
				if !yield(d, err) {
					for _, d := range all {
						_ = d.Ack(ctx)
					}
					return
				}
			}
		}
	}
}

// unbounded keeps all envelopes that a slow reader of a topic has not received.
func unbounded(b *broken) {
	do := b.receive
	b.receive = func(ctx context.Context, s bus.Subscription) iter.Seq2[*bus.Delivery, error] {
		if s.At.Kind != bus.TopicKind {
			return do(ctx, s)
		}
		return func(yield func(*bus.Delivery, error) bool) {
			var (
				mu   sync.Mutex
				all  []*bus.Delivery
				more = make(chan struct{}, 1)
			)
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() {
				for d, err := range do(ctx, s) {
					if err != nil {
						return
					}
					mu.Lock()
					all = append(all, d)
					mu.Unlock()
					select {
					case more <- struct{}{}:
					default:
					}
				}
			})
			for ctx.Err() == nil {
				mu.Lock()
				now := all
				all = nil
				mu.Unlock()
				for _, d := range now {
					if !yield(d, nil) {
						return
					}
				}
				select {
				case <-more:
				case <-ctx.Done():
				}
			}
		}
	}
}

// defectVar names the defect that a child process shall test.
const defectVar = "PARLEY_BUS_DEFECT"

// TestBroken runs the suite on each broken bus in a process of its own. The tests that cover
// the defect must fail.
func TestBroken(t *testing.T) {
	t.Parallel()
	if name := os.Getenv(defectVar); name != "" {
		f := bustest.Features{Leases: true, Durable: true}
		if name != "none" {
			f.Patience = 2 * time.Second // it will be lost
		}
		bustest.Run(t, f, bench(defects[name]))
		return
	}
	if out, err := child(t, "none", "."); err != nil {
		t.Fatalf("the suite fails on a sound bus: %v\n%s", err, out)
	}
	for _, name := range slices.Sorted(maps.Keys(defects)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := child(t, name, "^("+defects[name].found+")$")
			if err == nil {
				t.Fatal("the suite passes")
			}
			want := strings.Split(defects[name].found, "|")
			slices.Sort(want)
			if diff := cmp.Diff(want, failed(out)); diff != "" {
				t.Errorf("failed tests mismatch (-want +got):\n%s\n%s", diff, out)
			}
		})
	}
}

func child(t *testing.T, defect, tests string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBroken$/"+tests)
	cmd.Env = append(os.Environ(), defectVar+"="+defect)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// failed lists the tests of the suite that failed.
func failed(out string) []string {
	var names []string
	for line := range strings.Lines(out) {
		if _, name, ok := strings.Cut(line, "--- FAIL: TestBroken/"); ok {
			names = append(names, strings.Fields(name)[0])
		}
	}
	slices.Sort(names)
	return names
}
