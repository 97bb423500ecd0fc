package worker_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/worker"
)

// offer sends an offer of work of another task than the one of work, in the name of a hub.
func (h *manualHub) offer(id, source string) {
	h.t.Helper()
	message, err := json.Marshal(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hi")))
	if err != nil {
		h.t.Fatal(err)
	}
	body, err := protocol.Encode(&protocol.Job{
		Agent: "x", Delivery: 1, Key: "k", ContextID: "c", Message: message, Reports: protocol.ReportAt("h").Name,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	e := &bus.Envelope{ID: "work", Type: protocol.TypeJob, Source: source, ReplyTo: protocol.ControlAt("h").Name, Task: id, Body: body}
	b, err := e.Encode()
	if err != nil {
		h.t.Fatal(err)
	}
	h.publish(protocol.WorkerAt(h.worker), protocol.TypeOffer, 0, &protocol.Offer{Work: b})
}

// claimed reports whether the worker has claimed a task.
func (h *manualHub) claimed() bool {
	synctest.Wait()
	for {
		select {
		case d := <-h.control:
			if d.Type == protocol.TypeClaim {
				return true
			}
		default:
			return false
		}
	}
}

// TestDroppedOffers: a busy worker drops an offer after a moment, and later one for which it has a
// slot by then is claimed.
func TestDroppedOffers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := startManualHub(t, agent.Func(waitFor(release)), func(w *worker.Worker) { w.Concurrency = 1 })
		h.work()
		h.grant()
		h.offer("t", "hub/h")
		time.Sleep(protocol.OfferPatience)
		close(release)
		h.notify(protocol.TypeConfirm, 1, &protocol.Confirm{Final: true})
		if h.claimed() {
			t.Error("the worker has claimed an offer that it had dropped")
		}
		h.offer("t", "hub/h")
		if !h.claimed() {
			t.Error("the worker has not claimed an offer although it has a slot")
		}
	})
}

// TestForgedOffers: an offer without the signature of the hub, or with the work of another hub or task,
// is ignored.
func TestForgedOffers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signer, err := bus.NewSigner("h", nil)
		if err != nil {
			t.Fatal(err)
		}
		ring, err := bus.NewKeyring(signer.HubKey())
		if err != nil {
			t.Fatal(err)
		}
		h := startManualHub(t, agent.Func(waitFor(nil)), func(w *worker.Worker) { w.Keys = ring })
		h.signer = signer
		h.work()
		h.notify(protocol.TypeDeny, 0, &protocol.Deny{Nonce: h.nonce, Reason: "test"})
		h.offer("t", "hub/other")
		h.offer("u", "hub/h")
		h.signer = nil
		h.offer("t", "hub/h")
		if h.claimed() {
			t.Error("the worker has claimed a forged offer")
		}
		h.signer = signer
		if h.offer("t", "hub/h"); !h.claimed() {
			t.Error("the worker has not claimed an offer")
		}
	})
}

// waitFor returns an executor that ends its task when a channel is closed, or never.
func waitFor(release <-chan struct{}) func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) {
	return func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		select {
		case <-release:
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil), nil)
		case <-ctx.Done():
		}
	}
}
