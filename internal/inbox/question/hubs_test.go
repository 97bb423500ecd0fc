package question_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/trust"
	"github.com/parley-a2a/parley/task"
)

// sent is a message as received by a server.
type sent struct {
	TaskID    string `json:"taskId"`
	ContextID string `json:"contextId"`
	Parts     []map[string]any
	Metadata  map[string]any
}

// wire is a server that records the messages it receives.
type wire struct {
	inner http.Handler

	mu   sync.Mutex // guards the field below
	sent []sent
}

// ServeHTTP implements http.Handler.
func (w *wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var call struct {
		Message *sent
		Params  struct{ Message *sent }
	}
	if json.Unmarshal(body, &call) == nil {
		if call.Message == nil {
			call.Message = call.Params.Message
		}
		if call.Message != nil {
			w.mu.Lock()
			w.sent = append(w.sent, *call.Message)
			w.mu.Unlock()
		}
	}
	w.inner.ServeHTTP(rw, r)
}

// startFar starts a second hub with one of the built-in agents.
func startFar(t *testing.T, name string) (url string, w *wire) {
	t.Helper()
	there := new(parley.Hub)
	for _, a := range builtin.Agents() {
		if string(a.Name) == name {
			there.Handle(a.Card, a.Executor)
		}
	}
	w = &wire{inner: there.Handler()}
	server := httptest.NewServer(w)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = there.Run(ctx) })
	t.Cleanup(func() { cancel(); all.Wait(); server.Close() })
	return server.URL, w
}

// person answers every question of an inbox until the test ends or stop is called.
func person(t *testing.T, in *inbox.Inbox, answer func(n int, it *inbox.Item) string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	events := in.Watch(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		n := 0
		for it, err := range events {
			if err != nil {
				return
			}
			if it.Kind == inbox.Question && it.State == inbox.Open {
				n++
				if _, err := in.Answer(ctx, it.ID, "me", answer(n, &it)); err != nil && ctx.Err() == nil {
					t.Errorf("Answer: %v", err)
				}
			}
		}
	})
	stop = sync.OnceFunc(func() { cancel(); all.Wait() })
	t.Cleanup(stop)
	return stop
}

// The interview agent of another hub asks ten questions. The scripted agent answers them if the
// other hub's agent is trusted to act, and a person otherwise.
func TestTwoHubsNegotiate(t *testing.T) {
	t.Parallel()
	for _, poll := range []bool{false, true} {
		for _, level := range []trust.Level{trust.Observe, trust.Propose, trust.Act} {
			name := fmt.Sprintf("far-%s-%v", level, poll)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				url, w := startFar(t, "interview")
				far := &remote.Agent{URL: url, NoStreaming: poll, Poll: 1e7}
				t.Cleanup(func() { far.Close() })
				o := newFixture(t, 0)
				o.all = agents{task.Agent(name): far, "clerk": clerk(t)}
				if _, err := o.trust.Set(t.Context(), trust.Subject(name), &trust.Change{Level: level, Approve: []string{name}}); err != nil {
					t.Fatal(err)
				}
				o.open()
				stop := person(t, o.in, func(n int, it *inbox.Item) string { return fmt.Sprintf("p%d to %s", n, it.Draft) })
				before := counted(t, "parley.a2a.input_required_rounds", name, "")
				tr, r := newTracer(), messageTo(task.Agent(name), "ask 10")
				r.ReturnImmediately = true
				begun, err := o.Send(t.Context(), tr.caller(), r)
				if err != nil {
					t.Fatal(err)
				}
				done := o.wait(begun.Head.ID)
				stop()
				o.stop()
				if got := done.Head.State; got != task.Completed {
					t.Fatalf("the task is %s", describe(done))
				}
				items, policy, asked := o.items(), "auto", 0
				if level != trust.Act {
					policy, asked = "ask", 10
				}
				if len(items) != asked {
					t.Errorf("%d items in the inbox, want %d", len(items), asked)
				}
				text := done.Fold.ReplyText()
				for i := 3; i <= 10; i++ {
					want := fmt.Sprintf("a%d\n", i)
					if asked > 0 {
						want = fmt.Sprintf("p%d to a%d\n", i, i)
					}
					if !strings.Contains(text, want) {
						t.Errorf("there is no %q in %q", want, text)
					}
				}
				tr.looped(t, 10, policy, "completed")
				if n := counted(t, "parley.a2a.input_required_rounds", name, "") - before; n != 10 {
					t.Errorf("%d rounds are counted, want 10", n)
				}
				wired(t, w, 11)
			})
		}
	}
}

// wired checks that follow-up messages were text, in the context and the task of the first
// message.
func wired(t *testing.T, w *wire, messages int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.sent) != messages {
		t.Fatalf("%d messages were sent, want %d", len(w.sent), messages)
	}
	for i, m := range w.sent[1:] {
		if m.ContextID == "" || m.ContextID != w.sent[0].ContextID || m.TaskID == "" || m.TaskID != w.sent[1].TaskID {
			t.Errorf("follow-up %d is for task %q in context %q; the first is in %q", i+1, m.TaskID, m.ContextID, w.sent[0].ContextID)
		}
		if len(m.Parts) != 1 || m.Parts[0]["text"] == nil || len(m.Parts[0]) != 1 {
			t.Errorf("follow-up %d is %v, want text alone", i+1, m.Parts)
		}
	}
}

// Counts the reasons for ended loops.
func TestLoopEndsAreMeasured(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ask    func(int) string
		clerk  a2asrv.AgentExecutor
		rounds int
		reason string
	}{
		"endless": {numbered, clerk(t), 21, "max_rounds"},
		"parrot":  {func(int) string { return "and?" }, clerk(t), 3, "repetition"},
		"alone":   {numbered, asker(1, numbered), 1, "unanswered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startHub(t, new(memstore.Store), &question.PolicyResponder{Answerer: "clerk", Default: question.Auto}, agents{task.Agent(name): asker(1000, tt.ask), "clerk": tt.clerk})
			count := func() []int64 {
				return []int64{
					counted(t, "parley.a2a.input_required_rounds", name, ""),
					counted(t, "parley.a2a.input_required_breaks", name, tt.reason),
				}
			}
			tr, before := newTracer(), count()
			if _, err := h.Send(t.Context(), tr.caller(), messageTo(task.Agent(name), "go")); err != nil {
				t.Fatal(err)
			}
			h.stop()
			tr.looped(t, tt.rounds, "auto", "failed")
			last := tr.named("input_required_round")[tt.rounds-1]
			if of(&last, "reason") != tt.reason {
				t.Errorf("the last round has %v, want the reason %s", last.Attributes, tt.reason)
			}
			got := count()
			if diff := cmp.Diff([]int64{before[0] + int64(tt.rounds) - 1, before[1] + 1}, got); diff != "" {
				t.Errorf("answers and breaks (-want +got):\n%s", diff)
			}
		})
	}
}

// Loops end when the caller sends a message, and when the hub stops.
func TestLoopsEnd(t *testing.T) {
	t.Parallel()
	in := new(inbox.Inbox)
	h := startHub(t, new(memstore.Store), &question.PolicyResponder{Default: question.Ask, Inbox: in}, agents{"loops": asker(3, numbered)})
	tr, r := newTracer(), messageTo("loops", "go")
	r.ReturnImmediately = true
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opened := make(chan inbox.Item)
	var all sync.WaitGroup
	events := in.Watch(ctx)
	all.Go(func() {
		for it, err := range events {
			if err != nil {
				return
			}
			if it.State == inbox.Open {
				opened <- it
			}
		}
	})
	a, err := h.Send(t.Context(), tr.caller(), r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Answer(t.Context(), (<-opened).ID, "me", "one"); err != nil {
		t.Fatal(err)
	}
	<-opened
	own := messageTo("", "mine")
	own.Message.TaskID, own.ReturnImmediately = a.Head.ID, true
	if _, err := h.Send(t.Context(), tr.caller(), own); err != nil {
		t.Fatal(err)
	}
	<-opened
	h.stop()
	cancel()
	all.Wait()
	var got []string
	for _, s := range tr.named("input_required_loop") {
		got = append(got, of(&s, "round")+" "+of(&s, "outcome"))
	}
	if diff := cmp.Diff([]string{"2 working", "1 working"}, got); diff != "" {
		t.Errorf("loops (-want +got):\n%s", diff)
	}
}
