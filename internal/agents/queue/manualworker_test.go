package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// manualWorker is a worker that is controlled by the test and does nothing by itself. It
// belongs to a bubble.
type manualWorker struct {
	t    testing.TB
	bus  bus.Bus
	id   string
	work chan *bus.Delivery
	// received receives the messages of hubs.
	received chan *bus.Envelope
}

func (h *hub) startManualWorker() *manualWorker { return h.startManualWorkerAs(uuid.NewString()) }

// startManualWorkerAs starts a manual worker with an id.
func (h *hub) startManualWorkerAs(id string) *manualWorker {
	p := &manualWorker{t: h.t, bus: h.bus.Peer(), id: id, work: make(chan *bus.Delivery, 100), received: make(chan *bus.Envelope, 1000)}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{}, 2)
	go func() {
		defer func() { ended <- struct{}{} }()
		for d, err := range p.bus.Receive(ctx, bus.Subscription{At: protocol.JobAt("far"), Prefetch: 10}) {
			if err != nil {
				p.t.Error(err)
				return
			}
			p.work <- d
		}
	}()
	go func() {
		defer func() { ended <- struct{}{} }()
		for d, err := range p.bus.Receive(ctx, bus.Subscription{At: protocol.WorkerAt(p.id)}) {
			if err != nil {
				p.t.Error(err)
				return
			}
			p.received <- d.Envelope
		}
	}()
	h.t.Cleanup(func() { stop(); <-ended; <-ended })
	synctest.Wait()
	return p
}

// manualJob is a job of a manualWorker.
type manualJob struct {
	*manualWorker
	d     *bus.Delivery
	work  protocol.Work
	nonce string
	epoch int64
	token string
}

// take waits for work.
func (p *manualWorker) take() *manualJob {
	p.t.Helper()
	d := <-p.work
	j := &manualJob{manualWorker: p, d: d, nonce: uuid.NewString()}
	if err := json.Unmarshal(d.Body, &j.work); err != nil {
		p.t.Fatal(err)
	}
	return j
}

func (j *manualJob) send(to bus.Address, kind bus.Type, seq int64, body any) {
	j.t.Helper()
	b, err := protocol.Encode(body)
	if err != nil {
		j.t.Fatal(err)
	}
	e := &bus.Envelope{
		ID: uuid.NewString(), Type: kind, Source: "worker/" + j.id, ReplyTo: protocol.WorkerAt(j.id).Name,
		Task: j.d.Task, Owner: j.d.Owner, Epoch: j.epoch, Seq: seq, Body: b,
	}
	if err := j.bus.Publish(j.t.Context(), to, e); err != nil {
		j.t.Fatal(err)
	}
}

// claim claims the job and returns the answer.
func (j *manualJob) claim(idempotent bool) *bus.Envelope {
	j.t.Helper()
	j.send(bus.Topic(j.d.ReplyTo), protocol.TypeClaim, 0, &protocol.Claim{Delivery: j.work.Delivery, Worker: j.id, Nonce: j.nonce, Idempotent: idempotent})
	e := <-j.received
	if e.Type == protocol.TypeGrant {
		var g protocol.Grant
		if err := json.Unmarshal(e.Body, &g); err != nil || g.Nonce != j.nonce {
			j.t.Fatalf("grant %s: %v", e.Body, err)
		}
		j.epoch, j.token = e.Epoch, g.Token
	}
	return e
}

// granted is claim, and wants a grant. It acknowledges the work.
func (j *manualJob) granted(idempotent bool) *manualJob {
	j.t.Helper()
	if e := j.claim(idempotent); e.Type != protocol.TypeGrant {
		j.t.Fatalf("the claim is answered with %s %s", e.Type, e.Body)
	}
	if err := j.d.Ack(j.t.Context()); err != nil {
		j.t.Fatal(err)
	}
	return j
}

// report sends events from number seq on.
func (j *manualJob) report(seq int64, events ...string) {
	j.t.Helper()
	rep := &protocol.Report{Token: j.token, Worker: j.id}
	for _, ev := range events {
		rep.Events = append(rep.Events, json.RawMessage(ev))
	}
	j.send(bus.Queue(j.work.Reports), protocol.TypeReport, seq, rep)
}

func (j *manualJob) beat() {
	j.t.Helper()
	j.send(bus.Topic(j.d.ReplyTo), protocol.TypeHeartbeat, 0, &protocol.Heartbeat{Worker: j.id, Jobs: []protocol.HeldJob{{Task: j.d.Task, Owner: j.d.Owner, Epoch: j.epoch, Token: j.token}}})
}

// receives wants the next message of the hub to be of a type, with a number.
func (p *manualWorker) receives(kind bus.Type, seq int64) *bus.Envelope {
	p.t.Helper()
	synctest.Wait()
	select {
	case e := <-p.received:
		if e.Type != kind || e.Seq != seq {
			p.t.Errorf("the hub sends %s %d %s, want %s %d", e.Type, e.Seq, e.Body, kind, seq)
		}
		return e
	default:
		p.t.Fatalf("the hub sends nothing, want %s %d", kind, seq)
		return nil
	}
}

// requested wants the next message of the hub to request the events from a number on.
func (p *manualWorker) requested(from int64) {
	p.t.Helper()
	var c protocol.Confirm
	if e := p.receives(protocol.TypeConfirm, 0); json.Unmarshal(e.Body, &c) != nil || c.Resend != from {
		p.t.Errorf("the hub sends %s, want a request for the events from %d on", e.Body, from)
	}
}

// silence wants the hub to send nothing.
func (p *manualWorker) silence() {
	p.t.Helper()
	synctest.Wait()
	select {
	case e := <-p.received:
		p.t.Errorf("the hub sends %s %d %s, want nothing", e.Type, e.Seq, e.Body)
	default:
	}
}

func word(w string) string {
	return fmt.Sprintf(`{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":%q}]},"append":true}}`, w)
}

const (
	completed = `{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED"}}}`
	asks      = `{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}`
	isWorking = `{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}}`
	needsAuth = `{"statusUpdate":{"status":{"state":"TASK_STATE_AUTH_REQUIRED"}}}`
)
