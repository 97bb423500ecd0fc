package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/bus/protocol"
)

// mail puts numbers into an outbox, publishes them, loses some of that, and confirms.
type mail struct {
	box *outbox
	// put is the last number that was put, known the last one that the hub has taken,
	// base the last one that it has confirmed.
	put, known, base int64
}

func TestOutbox(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &mail{box: newOutbox()}
		t.Repeat(map[string]func(*rapid.T){
			"put":     m.add,
			"publish": func(t *rapid.T) { m.publish(t, true) },
			"lose":    func(t *rapid.T) { m.publish(t, false) },
			"confirm": m.confirm,
			"resend":  func(*rapid.T) { m.box.from(m.known + 1) },
			"again":   func(*rapid.T) { m.box.again() },
		})
		m.finish(t)
	})
}

func (m *mail) add(t *rapid.T) {
	if m.put-m.base >= outboxEvents {
		t.Skip("it is full")
	}
	m.put++
	if !m.box.put(context.Background(), said{event: json.RawMessage(fmt.Sprint(m.put))}, false) {
		t.Fatal("an open outbox takes nothing")
	}
}

// publish takes the next report out; the hub takes what comes next for it.
func (m *mail) publish(t *rapid.T, arrives bool) {
	var rep protocol.Report
	first, _ := m.box.next(&rep)
	if first == 0 {
		return
	}
	if first <= m.base || len(rep.Events) == 0 || len(rep.Events) > batchEvents {
		t.Fatalf("a report of %d events begins with %d, and %d is confirmed", len(rep.Events), first, m.base)
	}
	for i, ev := range rep.Events {
		if string(ev) != fmt.Sprint(first+int64(i)) {
			t.Fatalf("number %d is %s", first+int64(i), ev)
		}
	}
	if last := first + int64(len(rep.Events)) - 1; arrives && first <= m.known+1 {
		m.known = max(m.known, last)
	}
}

func (m *mail) confirm(t *rapid.T) {
	// Confirmations may come late, and in any order.
	seq := rapid.Int64Range(0, m.known).Draw(t, "seq")
	m.base = max(m.base, seq)
	m.box.confirm(seq, false)
}

// finish publishes everything, and wants nothing to be left.
func (m *mail) finish(t *rapid.T) {
	m.box.put(context.Background(), said{end: &protocol.Report{Ended: true}}, true)
	m.put++
	m.box.again()
	for m.known < m.put {
		var rep protocol.Report
		first, _ := m.box.next(&rep)
		if first == 0 || first > m.known+1 {
			t.Fatalf("the next report begins with %d, and %d is known of %d", first, m.known, m.put)
		}
		m.known = first + int64(len(rep.Events)) - 1
		if rep.Ended {
			m.known++
		}
	}
	m.box.confirm(m.known, true)
	if len(m.box.kept) != 0 || m.box.bytes != 0 {
		t.Fatalf("%d things and %d bytes are left", len(m.box.kept), m.box.bytes)
	}
	select {
	case <-m.box.settled:
	default:
		t.Fatal("a job whose end is confirmed is not over")
	}
}

// TestOutboxIsBounded wants who says too much to wait until something is confirmed.
func TestOutboxIsBounded(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"events": 1, "bytes": outboxBytes / 8} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				box, n := newOutbox(), 0
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					for box.put(ctx, said{event: make(json.RawMessage, size)}, false) {
						n++
					}
				}()
				synctest.Wait()
				want := min(outboxEvents, outboxBytes/size)
				if n != want {
					t.Errorf("%d fit, want %d", n, want)
				}
				box.next(new(protocol.Report))
				box.confirm(2, false)
				synctest.Wait()
				if n != want+2 {
					t.Errorf("%d fit after two are confirmed, want %d", n, want+2)
				}
				stop()
				<-done
			})
		})
	}
}

// TestOutboxIsLate wants what is not confirmed to be published once more, and nothing
// else.
func TestOutboxIsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box := newOutbox()
		if d := box.late(time.Now()); d != 0 {
			t.Errorf("an empty outbox is late in %v", d)
		}
		box.put(t.Context(), said{event: json.RawMessage("1")}, false)
		if first, slow := box.next(new(protocol.Report)); first != 1 || slow {
			t.Errorf("number %d is published first, at the queue: %t", first, slow)
		}
		for _, d := range []time.Duration{keepAfter, confirmWithin} {
			if got := box.late(time.Now()); got != d {
				t.Errorf("it is late in %v, want %v", got, d)
			}
			time.Sleep(d)
			box.late(time.Now())
			if first, slow := box.next(new(protocol.Report)); first != 1 || !slow {
				t.Errorf("number %d is published once more, at the queue: %t", first, slow)
			}
		}
		if box.flush(canceledContext()) {
			t.Error("what is not confirmed is durable")
		}
		box.confirm(1, false)
		if !box.flush(t.Context()) {
			t.Error("what is confirmed is not durable")
		}
	})
}

func canceledContext() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	return ctx
}
