package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/worker"
)

// manualHub is a hub that a test controls: it publishes work for the worker of agent x and reads
// the messages of that worker.
type manualHub struct {
	t   *testing.T
	bus *bus.Memory
	// control and reports receive what arrives at the topic and at the queue of the hub.
	control, reports chan *bus.Delivery
	// signer signs the messages; nil if they are not signed.
	signer *bus.Signer
	worker string // id of the worker that has claimed the work
	nonce  string
}

func startManualHub(t *testing.T, x a2asrv.AgentExecutor, alter func(*worker.Worker)) *manualHub {
	t.Helper()
	h := &manualHub{t: t, bus: new(bus.Memory), control: make(chan *bus.Delivery, 1000), reports: make(chan *bus.Delivery, 1000)}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{}, 2)
	for at, to := range map[bus.Address]chan *bus.Delivery{protocol.ControlAt("h"): h.control, protocol.ReportAt("h"): h.reports} {
		go func() {
			defer func() { done <- struct{}{} }()
			for d, err := range h.bus.Receive(ctx, bus.Subscription{At: at, Prefetch: 100}) {
				if err != nil {
					t.Errorf("receive at %s: %v", at, err)
					return
				}
				to <- d
			}
		}()
	}
	w := &worker.Worker{Bus: h.bus.Peer(), Name: "x", Executor: x, DrainTimeout: -1}
	if alter != nil {
		alter(w)
	}
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		for range 2 {
			<-done
		}
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	return h
}

// publish publishes a message of the hub about its only task.
func (h *manualHub) publish(to bus.Address, kind bus.Type, seq int64, body any) {
	h.t.Helper()
	raw, err := protocol.Encode(body)
	if err != nil {
		h.t.Fatal(err)
	}
	e := &bus.Envelope{
		ID: uuid.NewString(), Type: kind, Source: "hub/h", ReplyTo: protocol.ControlAt("h").Name, Task: "t", Epoch: 1, Seq: seq, Body: raw,
	}
	if h.signer != nil {
		if err := h.signer.Sign(e); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := h.bus.Publish(h.t.Context(), to, e); err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
}

func (h *manualHub) newWork() *protocol.Work {
	h.t.Helper()
	message, err := json.Marshal(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hi")))
	if err != nil {
		h.t.Fatal(err)
	}
	return &protocol.Work{Agent: "x", Delivery: 1, Key: "k", ContextID: "c", Message: message, Reports: protocol.ReportAt("h").Name}
}

// work publishes work and waits for the claim.
func (h *manualHub) work() {
	h.t.Helper()
	h.publish(protocol.JobAt("x"), protocol.TypeWork, 0, h.newWork())
	for d := range h.control {
		if d.Type != protocol.TypeClaim {
			continue
		}
		var c protocol.Claim
		if err := json.Unmarshal(d.Body, &c); err != nil {
			h.t.Fatal(err)
		}
		h.worker, h.nonce = c.Worker, c.Nonce
		return
	}
}

// notify publishes a message to the worker.
func (h *manualHub) notify(kind bus.Type, seq int64, body any) {
	h.t.Helper()
	h.publish(protocol.WorkerAt(h.worker), kind, seq, body)
}

func (h *manualHub) grant() {
	h.t.Helper()
	h.notify(protocol.TypeGrant, 0, &protocol.Grant{Nonce: h.nonce, Token: "secret", Lease: protocol.Lease.Milliseconds()})
}

// reported returns the numbers of the events in the reports that have arrived, in that order,
// and drops them.
func (h *manualHub) reported() string {
	h.t.Helper()
	synctest.Wait()
	numbers := ""
	for {
		var d *bus.Delivery
		select {
		case d = <-h.control:
		case d = <-h.reports:
		default:
			return numbers
		}
		if err := d.Ack(h.t.Context()); err != nil {
			h.t.Fatal(err)
		}
		var rep protocol.Report
		if d.Type != protocol.TypeReport || json.Unmarshal(d.Body, &rep) != nil {
			continue
		}
		for i := range rep.Events {
			numbers += fmt.Sprint(d.Seq+int64(i), " ")
		}
	}
}

// held returns the number of deliveries of work that are not settled.
func (h *manualHub) held() int64 {
	h.t.Helper()
	d, err := h.bus.Depth(h.t.Context(), protocol.JobAt("x"))
	if err != nil {
		h.t.Fatal(err)
	}
	return d.Held + d.Ready
}

// three reports two artifacts and completes its task.
var three = agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	_ = yield(a2a.NewArtifactEvent(ec, a2a.NewTextPart("one")), nil) &&
		yield(a2a.NewArtifactEvent(ec, a2a.NewTextPart("two")), nil) &&
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil), nil)
})

// TestEventsAreKeptUntilTheyAreConfirmed: a worker sends an event again until the hub confirms
// it, also if the broker has taken all earlier reports with it.
func TestEventsAreKeptUntilTheyAreConfirmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startManualHub(t, three, nil)
		h.work()
		h.grant()
		for _, when := range []string{"at first", "after a second", "after six seconds"} {
			if got := h.reported(); got != "1 2 3 " {
				t.Errorf("%s the worker reports events %q, want 1 2 3", when, got)
			}
			time.Sleep(5 * time.Second)
			synctest.Wait()
		}
		h.notify(protocol.TypeConfirm, 1, &protocol.Confirm{})
		h.reported()
		time.Sleep(7 * time.Second)
		synctest.Wait()
		if got := h.reported(); got != "2 3 " {
			t.Errorf("after event 1 is confirmed the worker reports events %q, want 2 3", got)
		}
		h.notify(protocol.TypeConfirm, 0, &protocol.Confirm{Resend: 3})
		if got := h.reported(); got != "3 " {
			t.Errorf("the hub asks for event 3, and the worker reports events %q", got)
		}
		h.notify(protocol.TypeConfirm, 3, &protocol.Confirm{Final: true})
		h.reported()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := h.reported(); got != "" {
			t.Errorf("after all events are confirmed the worker reports events %q", got)
		}
	})
}

// TestWorkIsHeldUntilItsEndIsStored: a worker acknowledges work when the hub has stored its final
// event. Otherwise the end of the task is lost if the worker is killed before.
func TestWorkIsHeldUntilItsEndIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startManualHub(t, three, nil)
		wantHeld := func(when string, want int64) {
			t.Helper()
			synctest.Wait()
			if got := h.held(); got != want {
				t.Errorf("%s the broker has %d deliveries, want %d", when, got, want)
			}
		}
		h.work()
		wantHeld("after the claim", 1)
		h.grant()
		wantHeld("after the final event was reported", 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		wantHeld("after a minute without a confirmation", 1)
		h.notify(protocol.TypeConfirm, 2, &protocol.Confirm{})
		wantHeld("after the artifacts were confirmed", 1)
		h.notify(protocol.TypeConfirm, 3, &protocol.Confirm{Final: true})
		wantHeld("after the final event was confirmed", 0)
	})
}

// TestMessagesWithoutSignature: a worker with keys ignores each message of a hub without a valid
// signature, not only work: another user of the broker could answer its claims, stop its tasks or
// make it drop events.
func TestMessagesWithoutSignature(t *testing.T) {
	t.Parallel()
	own, err := bus.NewSigner("h", nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := bus.NewSigner("h", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, forged := range map[string]*bus.Signer{"none": nil, "of an unknown key": other} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				keys, err := bus.NewKeyring(own.HubKey())
				if err != nil {
					t.Fatal(err)
				}
				started, end, stopped := make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 1)
				x := agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
					started <- struct{}{}
					if !yield(a2a.NewArtifactEvent(ec, a2a.NewTextPart("one")), nil) {
						return
					}
					select {
					case <-end:
						yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil), nil)
					case <-ctx.Done():
						stopped <- struct{}{}
					}
				})
				h := startManualHub(t, x, func(w *worker.Worker) { w.Keys = keys })
				h.signer = own
				h.work()

				h.signer = forged
				h.grant()
				h.notify(protocol.TypeDeny, 0, &protocol.Deny{Nonce: h.nonce, Reason: "forged"})
				if len(started) > 0 || h.held() != 1 {
					t.Fatalf("a forged answer to the claim counts: %d tasks have begun, %d deliveries are held", len(started), h.held())
				}
				h.signer = own
				h.grant()
				if len(started) != 1 {
					t.Fatal("a signed grant does not count")
				}
				h.reported()

				h.signer = forged
				h.notify(protocol.TypeConfirm, 1, &protocol.Confirm{Final: true})
				h.notify(protocol.TypeDeny, 0, &protocol.Deny{Reason: "forged"})
				h.notify(protocol.TypeCancel, 0, &protocol.Cancel{})
				if len(stopped) > 0 || h.held() != 1 {
					t.Errorf("a forged message ends the task: stopped %d, %d deliveries are held", len(stopped), h.held())
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if got := h.reported(); got != "1 1 " {
					t.Errorf("after a forged confirmation the worker reports events %q, want the first one twice", got)
				}

				h.signer = own
				close(end)
				h.reported()
				h.notify(protocol.TypeConfirm, 2, &protocol.Confirm{Final: true})
				if got := h.held(); got != 0 {
					t.Errorf("after a signed confirmation %d deliveries are held", got)
				}
			})
		})
	}
}
