package queue_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus/embedded"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/task"
	"github.com/parley-a2a/parley/worker"
)

// intruder has the key of another agent, and a client without checks of its own.
type intruder struct {
	t        *testing.T
	nc       *nats.Conn
	received *nats.Subscription
	refused  chan string
}

func newIntruder(t *testing.T, url string) *intruder {
	t.Helper()
	th := &intruder{t: t, refused: make(chan string, 100)}
	var err error
	th.nc = natstest.Connect(t, url, nats.Token("key-other"), nats.CustomInboxPrefix(natsbus.Inbox("other")),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { th.refused <- err.Error() }))
	if th.received, err = th.nc.SubscribeSync(natsbus.Subject(protocol.WorkerAt("other.*"))); err != nil {
		t.Fatal(err)
	}
	return th
}

// send publishes an envelope of some worker about a task.
func (in *intruder) send(at bus.Address, worker string, about *bus.Envelope, body any) {
	in.t.Helper()
	e := *about
	e.ID, e.Version = uuid.NewString(), bus.Version
	if e.Source == "" {
		e.Source = "worker/" + worker
	}
	var err error
	if e.Body, err = protocol.Encode(body); err != nil {
		in.t.Fatal(err)
	}
	data, err := e.Encode()
	if err != nil {
		in.t.Fatal(err)
	}
	if err := in.nc.Publish(natsbus.Subject(at), data); err != nil {
		in.t.Fatal(err)
	}
	if err := in.nc.Flush(); err != nil {
		in.t.Fatal(err)
	}
}

// receives returns the next message of the hub to it.
func (in *intruder) receives() string {
	in.t.Helper()
	m, err := in.received.NextMsg(time.Minute)
	if err != nil {
		in.t.Fatalf("the hub sends nothing: %v", err)
	}
	return string(m.Data)
}

// mustRefuse waits until the server reports a refused operation.
func (in *intruder) mustRefuse(at bus.Address) {
	in.t.Helper()
	select {
	case text := <-in.refused:
		if !strings.Contains(text, natsbus.Subject(at)) {
			in.t.Errorf("refused is %q, want %s", text, at)
		}
	case <-time.After(time.Minute):
		in.t.Errorf("%s is not refused", at)
	}
}

// TestWorkerWithTheKeyOfAnotherAgent has a worker with the key of another agent attack a task
// that waits for its own agent, and one that is being performed. It gets nothing, and changes
// nothing.
func TestWorkerWithTheKeyOfAnotherAgent(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start(embedded.Options{
		Listen: "127.0.0.1:0",
		Agent: func(key, _ string) (embedded.Credential, bool) {
			name, ok := strings.CutPrefix(key, "key-")
			return embedded.Credential{Key: name, Agent: name}, ok
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var open []bus.Bus
	t.Cleanup(func() {
		for _, b := range open {
			b.Close()
		}
		server.Close()
	})
	h := &hub{t: t, store: new(memstore.Store)}
	h.peer = func() bus.Bus {
		b, err := server.Open(t.Context(), natsbus.Options{})
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, b)
		return b
	}
	h.start()
	t.Cleanup(func() { h.stop() })
	th := newIntruder(t, server.Contact().URL)
	id := h.send(returnImmediately(newSend("for far alone"))).Head.ID
	about := &bus.Envelope{Type: protocol.TypeClaim, Task: string(id), Owner: "alice"}

	observer := natstest.Connect(t, server.Contact().URL, nats.Token(server.Contact().Token))
	others, err := observer.SubscribeSync(natsbus.Subject(protocol.WorkerAt("far.*")))
	if err != nil || observer.Flush() != nil {
		t.Fatal(err)
	}
	// With its own name its claim is denied, with that of another it is ignored.
	th.send(protocol.ControlAt("h"), "far.forged", about, &protocol.Claim{Delivery: 1, Worker: "far.forged", Nonce: "1"})
	th.send(protocol.ControlAt("h"), "other.1", about, &protocol.Claim{Delivery: 1, Worker: "far.forged", Nonce: "2"})
	th.send(protocol.ControlAt("h"), "other.1", about, &protocol.Claim{Delivery: 1, Worker: "other.1", Nonce: "3"})
	for _, nonce := range []string{"4", "5"} { // nor does a batch help
		one := map[string]protocol.Claim{
			"4": {Delivery: 1, Worker: "far.forged", Nonce: "4"}, "5": {Delivery: 1, Worker: "other.1", Nonce: "5"},
		}[nonce]
		body, err := protocol.Encode(&one)
		if err != nil {
			t.Fatal(err)
		}
		batch := &bus.Envelope{Type: protocol.TypeBatch}
		th.send(protocol.ControlAt("h"), "other.1", batch, &protocol.Batch{Envelopes: []protocol.Batched{
			{Type: protocol.TypeClaim, Task: string(id), Owner: "alice", Body: body},
		}})
	}
	denied := th.receives()
	if got := th.receives(); !strings.Contains(got, `"nonce":"5"`) || !strings.Contains(got, "it is for another agent") {
		t.Errorf("the answer to the claim in a batch is %s", got)
	}
	if got := denied; !strings.Contains(got, "job.deny") || !strings.Contains(got, `"nonce":"3"`) || !strings.Contains(got, "it is for another agent") {
		t.Errorf("the answer to the claim is %s", got)
	}
	if n, _, err := others.Pending(); n > 0 || err != nil || observer.Flush() != nil {
		t.Errorf("a worker of the agent received %d messages, %v", n, err)
	}
	// It can neither publish at the agent's queue or to its workers, nor subscribe there.
	for _, at := range []bus.Address{protocol.JobAt("far"), protocol.WorkerAt("far.1")} {
		th.send(at, "other.1", &bus.Envelope{Type: protocol.TypeWork, Source: "hub/h", Task: string(id), Owner: "alice"}, &protocol.Work{})
		th.mustRefuse(at)
	}
	_, err = th.nc.SubscribeSync(natsbus.Subject(protocol.WorkerAt("far.*")))
	if err != nil {
		t.Fatal(err)
	}
	th.mustRefuse(protocol.WorkerAt("far.*"))

	// While a worker of the agent performs the task, reports, heartbeats and claims change nothing.
	started, end := make(chan string, 1), make(chan struct{})
	b, err := natsbus.Open(t.Context(), natsbus.Options{URL: server.Contact().URL, Token: "key-far", Agent: "far"})
	if err != nil {
		t.Fatal(err)
	}
	open = append(open, b)
	h.startWorker(agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		started <- agent.Text(ec.Message)
		<-end
		yield(status(ec, a2a.TaskStateCompleted, "done by far"), nil)
	}), func(w *worker.Worker) { w.Bus = b })
	if got := <-started; got != "for far alone" {
		t.Errorf("the worker receives %q", got)
	}
	about.Epoch, about.Seq, about.Type = 1, 1, protocol.TypeReport
	done := protocol.Report{Token: "guessed", Worker: "other.1", Error: "stolen", Public: true}
	th.send(protocol.ReportAt("h"), "other.1", about, &done)
	if got := th.receives(); !strings.Contains(got, "job.deny") {
		t.Errorf("the answer to a report at the queue is %s", got)
	}
	th.send(protocol.ControlAt("h"), "other.1", about, &done)
	if got := th.receives(); !strings.Contains(got, "job.deny") {
		t.Errorf("the answer to a report at the topic is %s", got)
	}
	about.Type = protocol.TypeHeartbeat
	th.send(protocol.ControlAt("h"), "other.1", about, &protocol.Heartbeat{Worker: "other.1", Jobs: []protocol.HeldJob{{Task: string(id), Owner: "alice", Epoch: 1, Token: "x"}}})
	if got := th.receives(); !strings.Contains(got, "job.deny") {
		t.Errorf("the answer to a heartbeat is %s", got)
	}
	for _, epoch := range []int64{1, 2} { // the worker must not be stopped
		about.Epoch, done.Worker = epoch, "far.1"
		th.send(protocol.ReportAt("h"), "other.1", about, &done)
	}
	// The hub refuses envelopes for another hub, and types that no worker sends to a hub.
	about.Type, about.Destination = protocol.TypeReport, "hub/x"
	th.send(protocol.ReportAt("h"), "other.1", about, &done)
	about.Type, about.Destination = protocol.TypeConfirm, ""
	th.send(protocol.ReportAt("h"), "other.1", about, &protocol.Confirm{Final: true})
	for range 2 {
		d := next(t, open[0], bus.Dead)
		if d.Queue != protocol.ReportAt("h").Name {
			t.Errorf("dead is %s of %s: %s", d.Type, d.Queue, d.Reason)
		}
	}
	close(end)
	if got := describe(h.wait(id, task.Completed)); got != "TASK_STATE_COMPLETED done by far" {
		t.Errorf("the task is %s", got)
	}
}

// next returns the next delivery.
func next(t *testing.T, b bus.Bus, at bus.Address) *bus.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for d, err := range b.Receive(ctx, bus.Subscription{At: at}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Ack(ctx); err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Fatalf("nothing arrives at %s", at)
	return nil
}
