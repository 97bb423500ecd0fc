package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// executor is an agent built from functions.
type executor struct {
	run    func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool)
	cancel func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool)
}

func (x *executor) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { x.run(ctx, ec, yield) }
}

func (x *executor) Cancel(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if x.cancel == nil {
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
			return
		}
		x.cancel(ctx, ec, yield)
	}
}

func status(ec *a2asrv.ExecutorContext, s a2a.TaskState, text string) a2a.Event {
	var m *a2a.Message
	if text != "" {
		m = a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))
	}
	return a2a.NewStatusUpdateEvent(ec, s, m)
}

func chunk(ec *a2asrv.ExecutorContext, text string, more bool) a2a.Event {
	ev := a2a.NewArtifactUpdateEvent(ec, "answer", a2a.NewTextPart(text))
	ev.LastChunk = !more
	return ev
}

// words answers with its texts in chunks.
func words(texts ...string) *executor {
	return &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if !yield(status(ec, a2a.TaskStateWorking, ""), nil) {
			return
		}
		for i, w := range texts {
			if !yield(chunk(ec, w, i < len(texts)-1), nil) {
				return
			}
		}
		yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
	}}
}

// untilStopped works until its context ends.
func untilStopped(began chan<- context.Context) *executor {
	return &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if !yield(status(ec, a2a.TaskStateWorking, ""), nil) {
			return
		}
		if began != nil {
			began <- ctx
		}
		<-ctx.Done()
	}}
}

type bench struct {
	*engine.Engine
	t      testing.TB
	store  task.Store
	cancel context.CancelFunc
	done   chan error
}

// start returns an engine with one agent. The engine works until the test ends.
func start(t testing.TB, cfg engine.Config, x a2asrv.AgentExecutor) *bench {
	t.Helper()
	if cfg.Store == nil {
		cfg.Store = new(memstore.Store)
	}
	b := &bench{Engine: engine.New(cfg), t: t, store: cfg.Store, done: make(chan error, 1)}
	b.register("main", x)
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	go func() { b.done <- b.Run(ctx) }()
	t.Cleanup(func() {
		b.stop()
		if n := engine.Holds(b.Engine).Queued; n != 0 {
			t.Errorf("%d events are counted in the queues of ended runs, want none", n)
		}
	})
	<-b.Recovered()
	return b
}

func (b *bench) register(name task.Agent, x a2asrv.AgentExecutor) {
	b.t.Helper()
	if err := b.Register(enginetest.Agent(name, x)); err != nil {
		b.t.Fatal(err)
	}
}

// stop drains the engine and returns what Run returned.
func (b *bench) stop() error {
	b.cancel()
	err, ok := <-b.done
	if ok {
		close(b.done)
	}
	return err
}

// stopsEmpty drains the engine, which must hold nothing afterwards.
func (b *bench) stopsEmpty() {
	b.t.Helper()
	b.stop()
	if got := engine.Holds(b.Engine); got != (engine.Held{}) {
		b.t.Errorf("the engine holds %+v, want nothing", got)
	}
}

func caller(id string) *op.Caller {
	return &op.Caller{Principal: &auth.Principal{ID: id}}
}

var alice = caller("alice")

func text(s string) *op.Send {
	body, _ := json.Marshal(map[string]any{"messageId": "m-" + s, "role": "ROLE_USER", "parts": []any{map[string]string{"text": s}}})
	return &op.Send{Message: op.Message{ID: "m-" + s, MediaTypes: []string{""}, Body: body}}
}

func reply(id a2a.TaskID, s string) *op.Send {
	r := text(s)
	r.Message.TaskID = id
	return r
}

func now(r *op.Send) *op.Send {
	r.ReturnImmediately = true
	return r
}

func (b *bench) send(r *op.Send) *engine.Answer {
	b.t.Helper()
	a, err := b.Send(b.t.Context(), alice, r)
	if err != nil {
		b.t.Fatalf("Send(%s): %v", r.Message.ID, err)
	}
	return a
}

func (b *bench) get(id a2a.TaskID) *engine.Answer {
	b.t.Helper()
	a, err := b.Get(b.t.Context(), alice, &op.Get{ID: id})
	if err != nil {
		b.t.Fatalf("Get(%s): %v", id, err)
	}
	return a
}

// wait follows a task until it has ended or waits for its caller.
func (b *bench) wait(id a2a.TaskID, want task.State) task.Head {
	b.t.Helper()
	s, err := b.Subscribe(b.t.Context(), alice, &op.Subscribe{ID: id, LastEventID: "1"})
	if err != nil {
		b.t.Fatalf("Subscribe(%s): %v", id, err)
	}
	defer s.Close()
	for {
		events, err := s.Next(b.t.Context(), 0)
		if err != nil {
			b.t.Fatalf("task %s ended before it was %v: %v", id, want, err)
		}
		for _, ev := range events {
			if ev.Kind == task.Status && ev.State == want {
				return b.get(id).Head
			}
		}
	}
}

// follow reads a stream to its end.
func follow(t testing.TB, s *engine.Stream) []engine.Event {
	t.Helper()
	defer s.Close()
	var all []engine.Event
	for {
		events, err := s.Next(t.Context(), 0)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("Next after %d events: %v", len(all), err)
		}
		all = append(all, events...)
	}
}

func sdkTask(t testing.TB, a *engine.Answer) *a2a.Task {
	t.Helper()
	got, err := a.Fold.A2A(&a.Head)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func statusText(t testing.TB, a *engine.Answer) string {
	t.Helper()
	m := sdkTask(t, a).Status.Message
	if m == nil || len(m.Parts) == 0 {
		return ""
	}
	return m.Parts[0].Text()
}

func idempotent(x a2asrv.AgentExecutor) a2asrv.AgentExecutor {
	return agent.With(x, agent.Traits{AfterCrash: agent.Repeat})
}

// counting counts the appends to a store in memory.
type counting struct {
	memstore.Store
	appends atomic.Int64
}

func (c *counting) Append(ctx context.Context, ch *task.Change) error {
	c.appends.Add(1)
	return c.Store.Append(ctx, ch)
}
