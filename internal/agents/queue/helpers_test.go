package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/testenv"
	"github.com/parley-a2a/parley/worker"
)

func TestMain(m *testing.M) {
	testenv.Parallel(16) // tests wait for brokers
	goleak.VerifyTestMain(m)
}

// hub is a hub with one queue agent, far, that can be restarted on its store.
type hub struct {
	t     testing.TB
	bus   *bus.Memory
	store task.Store
	alter func(*queue.Dispatcher)
	// peer returns one more connection to the bus.
	peer func() bus.Bus
	*engine.Engine
	dispatcher *queue.Dispatcher
	stop       func()
}

func startHub(t testing.TB, alter func(*queue.Dispatcher)) *hub {
	t.Helper()
	return startHubOn(t, new(memstore.Store), alter)
}

func startHubOn(t testing.TB, store task.Store, alter func(*queue.Dispatcher)) *hub {
	t.Helper()
	h := &hub{t: t, bus: new(bus.Memory), store: store, alter: alter}
	h.peer = func() bus.Bus { return h.bus.Peer() }
	h.start()
	t.Cleanup(func() { h.stop() })
	return h
}

func (h *hub) start() {
	h.t.Helper()
	receives := &readyBus{Bus: h.peer()}
	receives.Add(2)
	h.dispatcher = &queue.Dispatcher{Bus: receives, ID: "h", Tasks: h.store, Logger: logger(h.t)}
	if h.alter != nil {
		h.alter(h.dispatcher)
	}
	h.Engine = engine.New(engine.Config{Store: h.store, Limits: limits.Limits{DrainTimeout: -1}})
	h.dispatcher.Runs = h.Engine
	card := &a2a.AgentCard{Name: "far"} // it has every skill
	if err := h.Register(engine.Agent{Name: "far", Card: card, Executor: &queue.Agent{Dispatcher: h.dispatcher}}); err != nil {
		h.t.Fatal(err)
	}
	running, end := context.WithCancel(context.Background())
	receiving, stopReceiving := context.WithCancel(context.Background())
	var wg, last sync.WaitGroup
	last.Go(func() {
		if err := h.dispatcher.Run(receiving); err != nil {
			h.t.Errorf("dispatcher: %v", err)
		}
	})
	wg.Go(func() {
		if err := h.Run(running); err != nil {
			h.t.Errorf("engine: %v", err)
		}
	})
	var once sync.Once
	h.stop = func() {
		once.Do(func() {
			end()
			wg.Wait()
			stopReceiving()
			last.Wait()
		})
	}
	<-h.Recovered()
	receives.Wait()
}

// readyBus is a bus that signals when both loops of a dispatcher are subscribed.
type readyBus struct {
	bus.Bus
	sync.WaitGroup
}

func (e *readyBus) Receive(ctx context.Context, s bus.Subscription) iter.Seq2[*bus.Delivery, error] {
	var once sync.Once
	ready := s.Ready
	s.Ready = func() {
		once.Do(e.Done)
		if ready != nil {
			ready()
		}
	}
	return e.Bus.Receive(ctx, s)
}

// Depth implements bus.Operator.
func (e *readyBus) Depth(ctx context.Context, at bus.Address) (bus.Depth, error) {
	return e.Bus.(bus.Operator).Depth(ctx, at)
}

// Purge implements bus.Operator.
func (e *readyBus) Purge(ctx context.Context, at bus.Address) (int64, error) {
	return e.Bus.(bus.Operator).Purge(ctx, at)
}

// restart restarts the hub.
func (h *hub) restart() {
	h.t.Helper()
	h.stop()
	h.start()
}

// testWorker is a worker that runs until end is called.
type testWorker struct {
	end  func()
	done chan error
}

// startWorker starts a worker for the agent far.
func (h *hub) startWorker(x a2asrv.AgentExecutor, alter func(*worker.Worker)) *testWorker {
	h.t.Helper()
	w := &worker.Worker{Bus: h.peer(), Name: "far", Executor: x, DrainTimeout: -1, Logger: logger(h.t)}
	if alter != nil {
		alter(w)
	}
	ctx, end := context.WithCancel(context.Background())
	c := &testWorker{end: end, done: make(chan error, 1)}
	go func() { // ends with the test
		c.done <- w.Run(ctx)
		close(c.done)
	}()
	h.t.Cleanup(func() { end(); <-c.done })
	return c
}

// logger writes records into the log of a test.
func logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

var alice = &op.Caller{Principal: &auth.Principal{ID: "alice"}}

func newSend(text string) *op.Send {
	body, _ := json.Marshal(map[string]any{"messageId": "m-" + text, "role": "ROLE_USER", "parts": []any{map[string]string{"text": text}}})
	return &op.Send{Message: op.Message{ID: "m-" + text, MediaTypes: []string{""}, Body: body}}
}

func reply(id a2a.TaskID, text string) *op.Send {
	r := newSend(text)
	r.Message.TaskID = id
	return r
}

func returnImmediately(r *op.Send) *op.Send {
	r.ReturnImmediately = true
	return r
}

func (h *hub) send(r *op.Send) *engine.Answer {
	h.t.Helper()
	a, err := h.Send(h.t.Context(), alice, r)
	if err != nil {
		h.t.Fatalf("Send(%s) = %v", r.Message.ID, err)
	}
	return a
}

func (h *hub) get(id a2a.TaskID) *engine.Answer {
	h.t.Helper()
	a, err := h.Get(h.t.Context(), alice, &op.Get{ID: id})
	if err != nil {
		h.t.Fatalf("Get(%s) = %v", id, err)
	}
	return a
}

// events follows a task from its beginning until its log ends, or until a status with the state
// want.
func (h *hub) events(id a2a.TaskID, want task.State) []engine.Event {
	h.t.Helper()
	s, err := h.Subscribe(h.t.Context(), alice, &op.Subscribe{ID: id, LastEventID: "1"})
	if err != nil {
		h.t.Fatalf("Subscribe(%s) = %v", id, err)
	}
	defer s.Close()
	var all []engine.Event
	for {
		events, err := s.Next(h.t.Context(), 0)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			h.t.Fatalf("task %s: %v", id, err)
		}
		for _, ev := range events {
			all = append(all, ev)
			if ev.Kind == task.Status && ev.State == want {
				return all
			}
		}
	}
}

// wait waits until a task has had a state.
func (h *hub) wait(id a2a.TaskID, want task.State) *engine.Answer {
	h.t.Helper()
	all := h.events(id, want)
	if last := all[len(all)-1]; last.State != want {
		h.t.Fatalf("task %s is %v (%s), want %v", id, last.State, last.Body, want)
	}
	return h.get(id)
}

// chunks returns the texts of the artifact events of a task.
func (h *hub) chunks(id a2a.TaskID) []string {
	h.t.Helper()
	var texts []string
	for _, ev := range h.events(id, task.Unspecified) {
		if ev.Kind != task.Artifact {
			continue
		}
		var a struct{ Parts []struct{ Text string } }
		if err := json.Unmarshal(ev.Body, &a); err != nil {
			h.t.Fatal(err)
		}
		texts = append(texts, a.Parts[0].Text)
	}
	return texts
}

func describe(a *engine.Answer) string {
	var m struct{ Parts []struct{ Text string } }
	_ = json.Unmarshal(a.Head.StatusMessage, &m)
	if len(m.Parts) == 0 {
		return a.Head.State.String()
	}
	return a.Head.State.String() + " " + m.Parts[0].Text
}

func status(ec *a2asrv.ExecutorContext, s a2a.TaskState, text string) a2a.Event {
	var m *a2a.Message
	if text != "" {
		m = a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))
	}
	return a2a.NewStatusUpdateEvent(ec, s, m)
}

// echo sends the words of its message in chunks.
var echo = agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	words := strings.Fields(agent.Text(ec.Message))
	for i, w := range words {
		ev := a2a.NewArtifactUpdateEvent(ec, "answer", a2a.NewTextPart(w))
		ev.Append, ev.LastChunk = i > 0, i == len(words)-1
		if !yield(ev, nil) {
			return
		}
	}
	yield(status(ec, a2a.TaskStateCompleted, agent.Text(ec.Message)), nil)
})
