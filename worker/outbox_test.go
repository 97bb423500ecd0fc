package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// mail adds numbers to a buffer, publishes them, loses some reports, and confirms.
type mail struct {
	buffer *sendBuffer
	// put is the last number that was added, known the last one that the hub has accepted, and
	// base the last one that it has confirmed.
	put, known, base int64
}

func TestSendBuffer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &mail{buffer: newSendBuffer()}
		t.Repeat(map[string]func(*rapid.T){
			"put":     m.add,
			"publish": func(t *rapid.T) { m.publish(t, true) },
			"lose":    func(t *rapid.T) { m.publish(t, false) },
			"confirm": m.confirm,
			"resend":  func(*rapid.T) { m.buffer.resendFrom(m.known + 1) },
			"again":   func(*rapid.T) { m.buffer.resendAll() },
		})
		m.finish(t)
	})
}

func (m *mail) add(t *rapid.T) {
	if m.put-m.base >= bufferEvents {
		t.Skip("it is full")
	}
	m.put++
	if !m.buffer.add(context.Background(), output{event: json.RawMessage(fmt.Sprint(m.put))}, false) {
		t.Fatal("an open buffer takes nothing")
	}
}

// publish publishes the next report; if it arrives, the hub accepts the outputs that continue
// its sequence.
func (m *mail) publish(t *rapid.T, arrives bool) {
	var rep protocol.Report
	first, _ := m.buffer.next(&rep)
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
	// Confirmations may arrive late, and in any order.
	seq := rapid.Int64Range(0, m.known).Draw(t, "seq")
	m.base = max(m.base, seq)
	m.buffer.confirm(seq, false)
}

// finish publishes all outputs, and expects the buffer to be empty afterwards.
func (m *mail) finish(t *rapid.T) {
	m.buffer.add(context.Background(), output{end: &protocol.Report{Ended: true}}, true)
	m.put++
	m.buffer.resendAll()
	for m.known < m.put {
		var rep protocol.Report
		first, _ := m.buffer.next(&rep)
		if first == 0 || first > m.known+1 {
			t.Fatalf("the next report begins with %d, and %d is known of %d", first, m.known, m.put)
		}
		m.known = first + int64(len(rep.Events)) - 1
		if rep.Ended {
			m.known++
		}
	}
	m.buffer.confirm(m.known, true)
	if left := m.buffer.out.Events(); len(left) != 0 {
		t.Fatalf("%d outputs are left", len(left))
	}
	select {
	case <-m.buffer.settled:
	default:
		t.Fatal("a job whose end is confirmed is not over")
	}
}

// TestSendBufferIsBounded checks that add waits for confirmations while the buffer is full.
func TestSendBufferIsBounded(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"events": 1, "bytes": bufferBytes / 8} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				buffer, n := newSendBuffer(), 0
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					for buffer.add(ctx, output{event: make(json.RawMessage, size)}, false) {
						n++
					}
				}()
				synctest.Wait()
				want := min(bufferEvents, bufferBytes/size)
				if n != want {
					t.Errorf("%d fit, want %d", n, want)
				}
				buffer.next(new(protocol.Report))
				buffer.confirm(2, false)
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

// TestSendBufferIsOverdue checks that unconfirmed outputs are published again, at the queue.
func TestSendBufferIsOverdue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		buffer := newSendBuffer()
		if d := buffer.resendOverdue(time.Now()); d != 0 {
			t.Errorf("an empty buffer is overdue in %v", d)
		}
		buffer.add(t.Context(), output{event: json.RawMessage("1")}, false)
		if first, slow := buffer.next(new(protocol.Report)); first != 1 || slow {
			t.Errorf("number %d is published first, at the queue: %t", first, slow)
		}
		for _, d := range []time.Duration{keepAfter, confirmWithin} {
			if got := buffer.resendOverdue(time.Now()); got != d {
				t.Errorf("it is late in %v, want %v", got, d)
			}
			time.Sleep(d)
			synctest.Wait()
			buffer.resendOverdue(time.Now())
			if first, slow := buffer.next(new(protocol.Report)); first != 1 || !slow {
				t.Errorf("number %d is published once more, at the queue: %t", first, slow)
			}
		}
		if buffer.flush(canceledContext()) {
			t.Error("an unconfirmed output is durable")
		}
		buffer.confirm(1, false)
		if !buffer.flush(t.Context()) {
			t.Error("a confirmed output is not durable")
		}
	})
}

func canceledContext() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	return ctx
}
