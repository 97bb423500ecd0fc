package queue_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/worker"
)

// subscribe passes on the deliveries at an address.
func subscribe(t *testing.T, b bus.Bus, at bus.Address) <-chan *bus.Delivery {
	t.Helper()
	received := make(chan *bus.Delivery, 100)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for d, err := range b.Receive(ctx, bus.Subscription{At: at, Prefetch: 10}) {
			if err != nil {
				t.Error(err)
				return
			}
			received <- d
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	return received
}

// TestUnconfirmedReportsAreResent lets a worker report to a hub that is not running: after a
// second the worker sends the report to the queue of the hub, and repeats it until it is
// confirmed.
func TestUnconfirmedReportsAreResent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bus.Memory
		t.Cleanup(func() { b.Close() })
		control, reports := subscribe(t, &b, protocol.ControlAt("h")), subscribe(t, &b, protocol.ReportAt("h"))
		x := agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			_ = yield(a2a.NewArtifactEvent(ec, a2a.NewTextPart("done")), nil) &&
				yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil), nil)
		})
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- (&worker.Worker{Bus: &b, Name: "far", Executor: x}).Run(ctx) }()
		defer func() { stop(); <-ended }()
		publish := func(to bus.Address, kind bus.Type, seq int64, body any) {
			t.Helper()
			raw, err := protocol.Encode(body)
			if err != nil {
				t.Fatal(err)
			}
			e := &bus.Envelope{ID: uuid.NewString(), Type: kind, Source: "hub/h", ReplyTo: protocol.ControlAt("h").Name, Task: "t", Epoch: 1, Seq: seq, Body: raw}
			if err := b.Publish(t.Context(), to, e); err != nil {
				t.Fatal(err)
			}
		}
		message, err := json.Marshal(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hi")))
		if err != nil {
			t.Fatal(err)
		}
		publish(protocol.JobAt("far"), protocol.TypeWork, 0, &protocol.Work{Agent: "far", Delivery: 1, Key: "k", ContextID: "c", Message: message, Reports: protocol.ReportAt("h").Name})
		var c protocol.Claim
		if err := json.Unmarshal((<-control).Body, &c); err != nil {
			t.Fatal(err)
		}
		publish(protocol.WorkerAt(c.Worker), protocol.TypeGrant, 0, &protocol.Grant{Nonce: c.Nonce, Token: "secret", Lease: protocol.Lease.Milliseconds()})
		began := time.Now()
		reported := reportedEvents(t, control)
		if d := time.Since(began); d != 0 {
			t.Errorf("the hub receives the reports after %v", d)
		}
		for _, after := range []time.Duration{time.Second, 6 * time.Second} {
			if diff := cmp.Diff(reported, reportedEvents(t, reports)); diff != "" {
				t.Errorf("the queue has something else than the topic (-topic +queue):\n%s", diff)
			}
			if d := time.Since(began); d != after {
				t.Errorf("the queue receives the reports after %v, want %v", d, after)
			}
		}
		publish(protocol.WorkerAt(c.Worker), protocol.TypeConfirm, int64(len(reported)), &protocol.Confirm{Final: true})
		synctest.Wait()
		if d, err := b.Depth(t.Context(), protocol.JobAt("far")); err != nil || d != (bus.Depth{Receivers: 1}) {
			t.Errorf("queue of the agent: %+v, %v", d, err)
		}
	})
}

// claims returns the events of all reports up to the final one.
func reportedEvents(t *testing.T, from <-chan *bus.Delivery) (all []string) {
	t.Helper()
	for {
		d := <-from
		if d.Type != protocol.TypeReport {
			continue // a heartbeat
		}
		var rep protocol.Report
		if err := json.Unmarshal(d.Body, &rep); err != nil || d.Seq != int64(len(all))+1 {
			t.Fatalf("report %d %s: %v", d.Seq, d.Body, err)
		}
		if err := d.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, e := range rep.Events {
			all = append(all, string(e))
		}
		if len(rep.Events) > 0 && isFinal(rep.Events[len(rep.Events)-1]) {
			return all
		}
	}
}

func isFinal(event json.RawMessage) bool {
	var e struct {
		StatusUpdate struct {
			Status struct{ State string }
		}
	}
	return json.Unmarshal(event, &e) == nil && e.StatusUpdate.Status.State == string(a2a.TaskStateCompleted)
}
