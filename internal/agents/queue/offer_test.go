package queue_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
	"github.com/parley-a2a/parley/worker"
)

// TestOffers: once a worker has claimed work, further work is offered to it and is not in the queue.
func TestOffers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signer, ring := newKeys(t)
		l := newCounter()
		h := startHub(t, func(d *queue.Dispatcher) { d.Bus, d.Signer = &slowTopics{d.Bus, l}, signer })
		h.startWorker(echo, func(w *worker.Worker) { w.Keys = ring })
		for range 5 {
			if got := describe(h.send(newSend("hi"))); got != "TASK_STATE_COMPLETED hi" {
				t.Errorf("a task is %s", got)
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if n := l.sent["hub job.work"]; n != 1 { // others are offers, alone or in batches with confirmations
			t.Errorf("the hub has published %d envelopes of work, want that of the first task", n)
		}
	})
}

// TestOnceGetsNoOffers: a worker for one task receives work from the queue alone.
func TestOnceGetsNoOffers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newCounter()
		h := startHub(t, func(d *queue.Dispatcher) { d.Bus = &slowTopics{d.Bus, l} })
		for range 3 {
			c := h.startWorker(echo, func(w *worker.Worker) { w.Once = true })
			h.send(newSend("hi"))
			<-c.done
		}
		if n := l.sent["hub offer"]; n != 0 {
			t.Errorf("the hub has published %d offers", n)
		}
	})
}

// offered starts a manual worker with slots, which has performed one task.
func (h *hub) offered(slots int) *manualWorker {
	h.t.Helper()
	p := h.startManualWorkerAs("far.0123456789abcdef")
	id := h.send(returnImmediately(newSend("first"))).Head.ID
	j := p.take()
	j.claimWith(slots)
	j.report(1, completed)
	h.wait(id, task.Completed)
	p.receives(protocol.TypeConfirm, 1)
	if err := j.d.Ack(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	return p
}

// claimWith claims with a number of slots, and wants a grant.
func (j *manualJob) claimWith(slots int) {
	j.t.Helper()
	j.send(bus.Topic(j.d.ReplyTo), protocol.TypeClaim, 0, &protocol.Claim{
		Delivery: j.work.Delivery, Worker: j.id, Nonce: j.nonce, Idempotent: true, Batches: true, Slots: slots,
	})
	e := j.receives(protocol.TypeGrant, 0)
	var g protocol.Grant
	if err := json.Unmarshal(e.Body, &g); err != nil {
		j.t.Fatal(err)
	}
	j.epoch, j.token = e.Epoch, g.Token
}

// takeOffer returns the job of an offer.
func (p *manualWorker) takeOffer() *manualJob {
	p.t.Helper()
	e := p.receives(protocol.TypeWork, 0)
	j := &manualJob{manualWorker: p, nonce: uuid.NewString(), d: &bus.Delivery{Envelope: e}}
	if err := json.Unmarshal(e.Body, &j.work); err != nil {
		p.t.Fatal(err)
	}
	return j
}

// TestLostOffers: an offer that the worker does not claim is published at the queue, in time, and the
// worker gets no further offers before it claims again. A late claim of the offer is as good as one
// of the work from the queue.
func TestLostOffers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		p := h.offered(5)
		second := h.send(returnImmediately(newSend("second"))).Head.ID
		offer := p.takeOffer()
		began := time.Now()
		fromQueue := p.take()
		if took := time.Since(began); took != protocol.OfferWithin {
			t.Errorf("the work is in the queue after %v, want %v", took, protocol.OfferWithin)
		}
		third := h.send(returnImmediately(newSend("third"))).Head.ID
		last := p.take()
		p.silence()
		offer.claimWith(5)
		if e := fromQueue.claim(true); e.Type != protocol.TypeDeny {
			t.Errorf("a second claim is answered with %s %s, want a denial", e.Type, e.Body)
		}
		last.claimWith(5)
		for _, j := range []*manualJob{offer, last} {
			j.report(1, completed)
			p.receives(protocol.TypeConfirm, 1)
		}
		h.wait(second, task.Completed)
		h.wait(third, task.Completed)
		h.send(returnImmediately(newSend("fourth")))
		p.takeOffer()
	})
}

// TestOffersDoNotOvertake: without a free slot work goes to the queue, and so does all further work
// while some waits there.
func TestOffersDoNotOvertake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		p := h.offered(1)
		h.send(returnImmediately(newSend("second")))
		second := p.takeOffer()
		h.send(returnImmediately(newSend("third")))
		third := p.take()
		second.claimWith(1)
		second.report(1, completed)
		p.receives(protocol.TypeConfirm, 1)
		h.send(returnImmediately(newSend("fourth"))) // the slot is free, and the third waits
		fourth := p.take()
		p.silence()
		for _, j := range []*manualJob{third, fourth} {
			j.claimWith(1)
			j.report(1, completed)
			p.receives(protocol.TypeConfirm, 1)
		}
		h.send(returnImmediately(newSend("fifth")))
		p.takeOffer()
	})
}

// TestOfferOfACanceledTask: an unclaimed offer is canceled at once, and its work never reaches the
// queue.
func TestOfferOfACanceledTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		p := h.offered(5)
		id := h.send(returnImmediately(newSend("second"))).Head.ID
		offer := p.takeOffer()
		if a, err := h.Cancel(t.Context(), alice, &op.Cancel{ID: id}); err != nil || a.Head.State != task.Canceled {
			t.Fatalf("Cancel = %v, %v", a, err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(p.work); n != 0 {
			t.Errorf("%d envelopes are in the queue", n)
		}
		offer.denied("ended")
	})
}

// TestLargeCallers: work of a caller with many claims is not offered, because a batch of such work would not fit
// into an envelope.
func TestLargeCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		p := h.offered(5)
		caller := &op.Caller{Principal: &auth.Principal{ID: "alice", Claims: map[string]string{"groups": strings.Repeat("g", protocol.MaxBatched)}}}
		if _, err := h.Send(t.Context(), caller, returnImmediately(newSend("second"))); err != nil {
			t.Fatal(err)
		}
		if j := p.take(); j.d.Principal.Claims["groups"] == "" {
			t.Error("the work has no claims of its caller")
		}
		p.silence()
	})
}

// TestSilentWorkersGetNoOffers: a worker of which the hub has received nothing for a lease may be
// lost, so that an offer would only take time.
func TestSilentWorkersGetNoOffers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		p := h.offered(5)
		time.Sleep(protocol.Lease)
		synctest.Wait()
		h.send(returnImmediately(newSend("second")))
		p.take()
		p.silence()
	})
}
