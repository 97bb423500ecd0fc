package worker_test

import (
	"context"
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
func (h *manualHub) offer() {
	h.t.Helper()
	h.publish(protocol.WorkerAt(h.worker), protocol.TypeWork, 0, h.newWork())
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
		h.offer()
		time.Sleep(protocol.OfferPatience)
		synctest.Wait()
		close(release)
		h.notify(protocol.TypeConfirm, 1, &protocol.Confirm{Final: true})
		if h.claimed() {
			t.Error("the worker has claimed an offer that it had dropped")
		}
		h.offer()
		if !h.claimed() {
			t.Error("the worker has not claimed an offer although it has a slot")
		}
	})
}

// TestForgedOffers: work at the topic of a worker without the signature of the hub is ignored.
func TestForgedOffers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signer, err := bus.NewSigner("h", nil)
		if err != nil {
			t.Fatal(err)
		}
		forger, err := bus.NewSigner("h", nil)
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
		for _, h.signer = range []*bus.Signer{forger, nil} {
			if h.offer(); h.claimed() {
				t.Error("the worker has claimed forged work")
			}
		}
		h.signer = signer
		if h.offer(); !h.claimed() {
			t.Error("the worker has not claimed work")
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
