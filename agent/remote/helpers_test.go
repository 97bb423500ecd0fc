package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/testenv"
	"github.com/parley-a2a/parley/push"
)

// hub is a hub that can be stopped and restarted with the same store, at the same address.
type hub struct {
	t      testing.TB
	store  task.Store
	agents map[string]a2asrv.AgentExecutor
	alter  func(*parley.Hub)
	addr   string
	wrap   func(http.Handler) http.Handler // nil for none

	*engine.Engine
	stop func()
}

func startHub(t testing.TB, agents map[string]a2asrv.AgentExecutor, alter func(*parley.Hub)) *hub {
	t.Helper()
	h := &hub{t: t, store: new(memstore.Store), agents: agents, alter: alter, addr: testenv.Addr(t)}
	h.start()
	t.Cleanup(func() { h.stop() })
	return h
}

func (h *hub) start() {
	h.t.Helper()
	p := &parley.Hub{Store: h.store, Limits: parley.Limits{DrainTimeout: time.Nanosecond}, Push: push.Options{Allow: []string{"loopback"}}}
	if h.alter != nil {
		h.alter(p)
	}
	for name, x := range h.agents {
		p.Handle(&a2a.AgentCard{
			Name: name, Description: name, Version: "1", Skills: []a2a.AgentSkill{{ID: name}},
			Capabilities: a2a.AgentCapabilities{Streaming: true},
		}, x)
	}
	handler := p.Handler()
	if h.wrap != nil {
		handler = h.wrap(handler)
	}
	l, err := net.Listen("tcp", h.addr)
	if err != nil {
		h.t.Fatal(err)
	}
	h.addr, h.Engine = l.Addr().String(), p.Engine().(*engine.Engine)
	server := &http.Server{Handler: handler}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(l) })
	wg.Go(func() { _ = p.Run(ctx) })
	var once sync.Once
	h.stop = func() {
		once.Do(func() {
			cancel()
			server.Close()
			wg.Wait()
			http.DefaultClient.CloseIdleConnections()
		})
	}
	<-h.Recovered()
}

// restart restarts the hub.
func (h *hub) restart() {
	h.t.Helper()
	h.stop()
	h.start()
}

func (h *hub) url() string { return "http://" + h.addr }

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

func now(r *op.Send) *op.Send {
	r.ReturnImmediately = true
	return r
}

// given calls f, whose verdict needs a time limit, with longer and longer limits until it
// reports that the machine was fast enough for it.
func given(t testing.TB, first time.Duration, f func(limit time.Duration) bool) {
	t.Helper()
	for limit := first; !f(limit); limit *= 2 {
		if limit > 30*time.Second {
			t.Fatalf("not even a limit of %v was enough", limit)
		}
	}
}

func (h *hub) send(r *op.Send) *engine.Answer {
	h.t.Helper()
	a, err := h.Send(h.t.Context(), alice, r)
	if err != nil {
		h.t.Fatalf("Send(%s) = %v", r.Message.ID, err)
	}
	return a
}

// get returns a task, found by its owner in the store, as its own hub shows it.
func (h *hub) get(id a2a.TaskID) *engine.Answer {
	h.t.Helper()
	a, err := h.Get(h.t.Context(), alice, &op.Get{ID: id})
	if err != nil {
		h.t.Fatalf("Get(%s) = %v", id, err)
	}
	return a
}

// only returns the only task of the anonymous caller: that of a peer that was called once.
func (h *hub) only() *engine.Answer {
	h.t.Helper()
	all := h.all()
	if len(all) != 1 {
		h.t.Fatalf("the peer has %d tasks, want one", len(all))
	}
	return &engine.Answer{Answer: all[0]}
}

func (h *hub) all() []op.Answer {
	h.t.Helper()
	anyone := &op.Caller{Principal: &auth.Principal{ID: auth.Local}}
	page, err := h.List(h.t.Context(), anyone, &op.List{PageSize: 100, IncludeArtifacts: true})
	if err != nil {
		h.t.Fatal(err)
	}
	return page.Tasks
}

// wait follows a task until it reaches the state want.
func (h *hub) wait(id a2a.TaskID, want task.State) *engine.Answer {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	s, err := h.Subscribe(ctx, alice, &op.Subscribe{ID: id, LastEventID: "1"})
	if err != nil {
		h.t.Fatalf("Subscribe(%s) = %v", id, err)
	}
	defer s.Close()
	for {
		events, err := s.Next(ctx, 0)
		if err != nil {
			h.t.Fatalf("task %s is %s before it was %v: %v", id, describe(h.get(id)), want, err)
		}
		for _, ev := range events {
			if ev.Kind == task.Status && ev.State == want {
				return h.get(id)
			}
		}
	}
}

// log returns all entries of a task that has ended.
func (h *hub) log(id a2a.TaskID) []engine.Event {
	h.t.Helper()
	s, err := h.Subscribe(h.t.Context(), alice, &op.Subscribe{ID: id, LastEventID: "1"})
	if err != nil {
		h.t.Fatal(err)
	}
	defer s.Close()
	var all []engine.Event
	for {
		events, err := s.Next(h.t.Context(), 0)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			h.t.Fatal(err)
		}
		all = append(all, events...)
	}
}

func describe(a *engine.Answer) string {
	return a.Head.State.String() + " " + words(a) + " " + string(a.Head.StatusMessage)
}

// words is the text of a task's artifacts, or of its status.
func words(a *engine.Answer) string { return a.Fold.ReplyText() }

// chunks are the texts of the chunks in the log of a task.
func (h *hub) chunks(id a2a.TaskID) []string {
	h.t.Helper()
	var all []string
	for i, ev := range h.log(id) {
		if ev.Version != int64(i+2) {
			h.t.Errorf("event %d has version %d", i, ev.Version)
		}
		if ev.Kind != task.Artifact {
			continue
		}
		if !ev.Append {
			all = nil
		}
		all = append(all, textOf(h.t, &ev))
	}
	return all
}

// textOf is the text of a chunk.
func textOf(t testing.TB, ev *engine.Event) string {
	t.Helper()
	var a struct{ Parts []struct{ Text string } }
	if err := json.Unmarshal(ev.Body, &a); err != nil {
		t.Fatal(err)
	}
	var all string
	for _, p := range a.Parts {
		all += p.Text
	}
	return all
}

func status(ec *a2asrv.ExecutorContext, s a2a.TaskState, text string) a2a.Event {
	var m *a2a.Message
	if text != "" {
		m = a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))
	}
	return a2a.NewStatusUpdateEvent(ec, s, m)
}

// counting sends the words of its message one by one. Before each it waits for a token from
// turn, if that is not nil.
func counting(turn <-chan struct{}) agent.Func {
	return func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if !yield(status(ec, a2a.TaskStateWorking, ""), nil) {
			return
		}
		for i, word := range strings.SplitAfter(agent.Text(ec.Message), " ") {
			if turn != nil {
				select {
				case <-turn:
				case <-ctx.Done():
					return
				}
			}
			ev := a2a.NewArtifactUpdateEvent(ec, "answer", a2a.NewTextPart(word))
			ev.Append = i > 0
			if !yield(ev, nil) {
				return
			}
		}
		yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
	}
}

// pair is a hub with one remote agent, and the peer behind it.
type pair struct {
	hub, peer *hub
	agent     *remote.Agent
}

// startPair starts a peer with the agent x, and a hub that asks it. alter may change the
// agent before it is used.
func startPair(t testing.TB, x a2asrv.AgentExecutor, alter func(*remote.Agent)) *pair {
	t.Helper()
	p := &pair{peer: startHub(t, map[string]a2asrv.AgentExecutor{"worker": x}, nil)}
	p.agent = &remote.Agent{URL: p.peer.url()}
	if alter != nil {
		alter(p.agent)
	}
	t.Cleanup(func() { p.agent.Close() })
	p.hub = startHub(t, map[string]a2asrv.AgentExecutor{"far": p.agent}, nil)
	return p
}

// quick makes an agent poll often, and never stream if poll is set.
func quick(poll bool) func(*remote.Agent) {
	return func(a *remote.Agent) { a.Poll, a.NoStreaming, a.ReturnImmediately = 20*time.Millisecond, poll, poll }
}

// stubborn refuses to be canceled.
type stubborn struct{ agent.Func }

func (stubborn) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { yield(nil, a2a.ErrTaskNotCancelable) }
}
