package queue_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/testing/storetest"
)

// vouching is a bus whose broker authenticates the publishers at topics: it reports each message
// as one of the agent from.
type vouching struct {
	bus.Bus
	from string
}

func (v *vouching) Receive(ctx context.Context, s bus.Subscription) iter.Seq2[*bus.Delivery, error] {
	return func(yield func(*bus.Delivery, error) bool) {
		for d, err := range v.Bus.Receive(ctx, s) {
			if d != nil && d.At.Kind == bus.TopicKind {
				d.From = v.from
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// batched returns a batch with one message, and its body.
func batched(t *testing.T, kind bus.Type, j *manualJob, body any) *protocol.Batch {
	t.Helper()
	raw, err := protocol.Encode(body)
	if err != nil {
		t.Fatal(err)
	}
	return &protocol.Batch{Envelopes: []protocol.Batched{{Type: kind, Task: j.d.Task, Owner: j.d.Owner, Epoch: j.epoch, Body: raw}}}
}

// TestSenderIsCompared: the hub compares the sender that the broker vouches for with the one that
// a message names. A worker of agent other can neither claim, report nor give signs of life as a
// worker of agent far.
func TestSenderIsCompared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var v *vouching
		h := startHub(t, func(d *queue.Dispatcher) {
			v = &vouching{d.Bus, "other"}
			d.Bus = v
		})
		h.send(returnImmediately(newSend("for far alone")))
		p := h.startManualWorkerAs("far.1")
		j := p.take()
		control := bus.Topic(j.d.ReplyTo)
		claim := &protocol.Claim{Delivery: j.work.Delivery, Worker: p.id, Nonce: j.nonce}
		j.send(control, protocol.TypeClaim, 0, claim)
		p.silence() // a denial would confirm the worker's name, and that the task exists
		j.send(control, protocol.TypeBatch, 0, batched(t, protocol.TypeClaim, j, claim))
		p.silence()
		j.id = "other.1" // the source is its own, the worker in the claim is not
		j.send(control, protocol.TypeClaim, 0, claim)
		j.send(control, protocol.TypeBatch, 0, batched(t, protocol.TypeClaim, j, claim))
		// The test reads the messages to far.1, which a denial would reach.
		j.id = "far.1"
		p.silence()

		v.from = "far"
		j.granted(false)
		p.drop()
		v.from = "other"
		j.send(control, protocol.TypeReport, 1, &protocol.Report{Token: j.token, Worker: p.id, Events: []json.RawMessage{json.RawMessage(completed)}})
		p.silence()
		v.from = "far"
		j.send(control, protocol.TypeReport, 1, &protocol.Report{Token: j.token, Worker: p.id, Events: []json.RawMessage{json.RawMessage(completed)}})
		p.receives(protocol.TypeConfirm, 1)
	})
}

// drop drops the messages that have arrived.
func (p *manualWorker) drop() {
	synctest.Wait()
	for len(p.received) > 0 {
		<-p.received
	}
}

// TestReportsAreConfirmedOnceTheyAreStored: while the store does not commit the events of a worker,
// the hub neither confirms them to the worker nor acknowledges the report to the broker. Otherwise a
// kill of the hub would lose them.
func TestReportsAreConfirmedOnceTheyAreStored(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]string{"an artifact": word("a"), "the end": completed, "a question": asks} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := new(storetest.Store)
				h := startHubOn(t, store, nil)
				id := h.send(returnImmediately(newSend("hi"))).Head.ID
				p := h.startManualWorker()
				j := p.take().granted(true)
				p.drop()
				afterASecond()
				store.Full.Store(true)
				j.report(1, event)
				afterASecond()
				p.silence()
				if d := h.reportDepth(); d.Held+d.Ready != 1 {
					t.Errorf("before its events are stored the report is acknowledged: %+v", d)
				}
				if v := h.get(id).Head.Version; v != 2 {
					t.Errorf("before the events are stored the task is at v%d, want v2", v)
				}
				store.Full.Store(false)
				afterASecond()
				p.receives(protocol.TypeConfirm, 1)
				if d := h.reportDepth(); d.Held+d.Ready != 0 {
					t.Errorf("after its events are stored the report is not acknowledged: %+v", d)
				}
				if v := h.get(id).Head.Version; v != 3 {
					t.Errorf("after the events are stored the task is at v%d, want v3", v)
				}
			})
		})
	}
}

// afterASecond waits until the hub has nothing more to do.
func afterASecond() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// reportDepth returns the depth of the hub's queue.
func (h *hub) reportDepth() bus.Depth {
	h.t.Helper()
	d, err := h.bus.Depth(h.t.Context(), protocol.ReportAt("h"))
	if err != nil {
		h.t.Fatal(err)
	}
	return d
}
