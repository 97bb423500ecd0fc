package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// turns lets a counting agent send n more words.
func turns(turn chan<- struct{}, n int) {
	for range n {
		turn <- struct{}{}
	}
}

// awaitWords follows a task until it has sent n words.
func (h *hub) awaitWords(id a2a.TaskID, n int) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	s, err := h.Subscribe(ctx, alice, &op.Subscribe{ID: id, LastEventID: "1"})
	if err != nil {
		h.t.Fatal(err)
	}
	defer s.Close()
	for text := ""; strings.Count(text, " ") < n; {
		events, err := s.Next(ctx, 0)
		if err != nil {
			h.t.Fatalf("task is %s after %q: %v", describe(h.get(id)), text, err)
		}
		for _, ev := range events {
			if ev.Kind == task.Artifact {
				text += textOf(h.t, &ev)
			}
		}
	}
}

// TestHubRestart stops the hub after each chunk. The peer continues, and the caller sees
// one log.
func TestHubRestart(t *testing.T) {
	t.Parallel()
	for name, poll := range map[string]bool{"streaming": false, "polling": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn := make(chan struct{}, 10)
			p := startPair(t, counting(turn), quick(poll))
			id := p.hub.send(now(newSend("a b c d e f g h"))).Head.ID
			for n := 1; n <= 6; n++ {
				turn <- struct{}{}
				p.hub.awaitWords(id, n)
				p.hub.stop()
				if n == 3 {
					turns(turn, 2) // the hub is stopped
					n = 5
				}
				p.hub.start()
			}
			turns(turn, 2)
			p.hub.wait(id, task.Completed)
			if got := strings.Join(p.hub.chunks(id), ""); got != "a b c d e f g h" {
				t.Errorf("the answer is %q", got)
			}
			if there := p.peer.only(); there.Head.State != task.Completed {
				t.Errorf("the task there is %s", describe(there))
			}
		})
	}
}

// TestQuestionOutlivesBoth restarts both hubs while a question waits.
func TestQuestionOutlivesBoth(t *testing.T) {
	t.Parallel()
	p := startPair(t, agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, "which?"), nil)
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, agent.Text(ec.Message)), nil)
	}), nil)
	id := p.hub.send(newSend("begin")).Head.ID
	p.hub.restart()
	p.peer.restart()
	a := p.hub.send(reply(id, "this"))
	if a.Head.State == task.InputRequired {
		// The connection broke, and the hub found that the answer had not arrived.
		a = p.hub.send(reply(id, "this"))
	}
	if words(a) != "this" || p.peer.only().Head.State != task.Completed {
		t.Errorf("the task is %s here, and %s there", describe(a), describe(p.peer.only()))
	}
}

// TestPeerRestart checks that the peer's report of an interrupted task is passed on.
func TestPeerRestart(t *testing.T) {
	t.Parallel()
	turn := make(chan struct{}, 1)
	turn <- struct{}{}
	p := startPair(t, counting(turn), nil)
	id := p.hub.send(now(newSend("a b"))).Head.ID
	p.hub.awaitWords(id, 1)
	p.peer.restart()
	a := p.hub.wait(id, task.Failed)
	if !strings.Contains(string(a.Head.StatusMessage), "interrupted by restart") {
		t.Errorf("the task is %s", describe(a))
	}
}

// dropper forwards requests to the peer, and drops the answers to sends while it is armed. It
// refuses the methods whose name contains refused.
type dropper struct {
	armed   atomic.Int32
	refused string
	sends   atomic.Int32
	keys    atomic.Int32 // sends with an idempotency key
}

func (d *dropper) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case d.refused != "" && strings.HasSuffix(r.URL.Path, "/tasks"):
			http.NotFound(w, r)
		case d.refused != "" && (bytes.Contains(body, []byte(`"`+d.refused+`"`)) || bytes.Contains(body, []byte(`"tasks/list"`))):
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}`)
		case bytes.Contains(body, []byte(`Message"`)) && bytes.Contains(body, []byte(`"message"`)):
			d.sends.Add(1)
			if r.Header.Get("Idempotency-Key") != "" {
				d.keys.Add(1)
			}
			if d.armed.Add(-1) >= 0 {
				ctx, cancel := context.WithCancel(r.Context())
				defer cancel()
				next.ServeHTTP(&discardResponse{h: http.Header{}, began: cancel}, r.WithContext(ctx))
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// discardResponse discards an answer. It calls began when there is one: the message was accepted.
type discardResponse struct {
	h     http.Header
	began func()
}

func (d *discardResponse) Header() http.Header { return d.h }
func (d *discardResponse) Write(b []byte) (int, error) {
	if len(b) > 0 {
		d.began()
	}
	return len(b), nil
}
func (d *discardResponse) WriteHeader(int) {}
func (d *discardResponse) Flush()          {}

// behind starts a pair whose peer is behind d.
func behind(t *testing.T, d *dropper, x a2asrv.AgentExecutor, alter func(*remote.Agent)) *pair {
	t.Helper()
	p := startPair(t, x, alter)
	p.peer.stop()
	p.peer.wrap = d.wrap
	p.peer.start()
	return p
}

func TestUnknownWhetherAccepted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		refused    string
		idempotent bool
		want       string
		sends      int32
	}{
		{"found in a list", "", false, "TASK_STATE_COMPLETED a b", 1},
		{"no lists", "ListTasks", false, `TASK_STATE_FAILED agent "far" may or may not have accepted the message`, 1},
		{"no lists, idempotent", "ListTasks", true, "TASK_STATE_COMPLETED a b", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := &dropper{refused: tt.refused}
			d.armed.Store(1)
			p := behind(t, d, counting(nil), func(a *remote.Agent) { a.Idempotent = tt.idempotent })
			a := p.hub.send(newSend("a b"))
			if got := describe(a); !strings.HasPrefix(got, tt.want) {
				t.Errorf("the task is %s, want %s", got, tt.want)
			}
			if d.sends.Load() != tt.sends || d.keys.Load() > 0 != tt.idempotent {
				t.Errorf("%d sends, %d of them with a key, want %d", d.sends.Load(), d.keys.Load(), tt.sends)
			}
		})
	}
}

// TestUnknownWhetherAnswered loses the answer to a further message.
func TestUnknownWhetherAnswered(t *testing.T) {
	t.Parallel()
	d := new(dropper)
	p := behind(t, d, agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, "which?"), nil)
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, agent.Text(ec.Message)), nil)
	}), nil)
	id := p.hub.send(newSend("begin")).Head.ID
	d.armed.Store(1)
	a := p.hub.send(reply(id, "this"))
	if words(a) != "this" || d.sends.Load() != 2 {
		t.Errorf("after %d sends the task is %s", d.sends.Load(), describe(a))
	}
}

// TestKilledBeforeTheAnswer kills the hub while its message is in flight: the next hub finds
// that it has arrived.
func TestKilledBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	turn, began := make(chan struct{}, 10), make(chan struct{})
	x := agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		close(began)
		counting(turn)(ctx, ec, yield)
	})
	p := startPair(t, x, func(a *remote.Agent) { a.NoStreaming, a.Poll = true, 20*time.Millisecond })
	id := p.hub.send(now(newSend("a b c"))).Head.ID
	<-began
	p.hub.restart()
	turns(turn, 3)
	p.hub.wait(id, task.Completed)
	if got := strings.Join(p.hub.chunks(id), ""); got != "a b c" || len(p.peer.all()) != 1 {
		t.Errorf("the answer is %q, from %d tasks", got, len(p.peer.all()))
	}
}

func TestNotReachable(t *testing.T) {
	t.Parallel()
	given(t, 2*time.Second, func(limit time.Duration) bool {
		p := startPair(t, counting(nil), func(a *remote.Agent) { a.Timeout = limit })
		p.peer.stop()
		a := p.hub.send(newSend("hi"))
		if got := describe(a); !strings.HasPrefix(got, `TASK_STATE_FAILED agent "far" is not reachable: `) {
			t.Errorf("the task is %s", got)
		}
		p.peer.start()
		if a := p.hub.send(newSend("hi")); a.Head.State != task.Completed {
			t.Logf("now that the peer is back, within %v the task is %s", limit, describe(a))
			return false
		}
		p.peer.stop()
		got := describe(p.hub.send(newSend("hi")))
		if !strings.HasPrefix(got, `TASK_STATE_FAILED agent "far" is not reachable: `) &&
			// The message may have been sent on a connection that was still open.
			!strings.HasPrefix(got, `TASK_STATE_FAILED agent "far" did not confirm in time whether it accepted the message`) &&
			!strings.HasPrefix(got, `TASK_STATE_FAILED agent "far" did not answer in time; it is unknown whether it accepted the message`) {
			t.Errorf("the task is %s", got)
		}
		return true
	})
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	given(t, 3*time.Second, func(limit time.Duration) bool {
		turn := make(chan struct{})
		p := startPair(t, counting(turn), func(a *remote.Agent) { a.Timeout = limit })
		a := p.hub.send(newSend("hi"))
		if got := describe(a); !strings.HasPrefix(got, fmt.Sprintf(`TASK_STATE_FAILED agent "far" did not answer within %v`, limit)) {
			t.Logf("within %v the task is %s", limit, got)
			return false // the peer has not accepted the message in time
		}
		if there := p.peer.only(); there.Head.State != task.Canceled {
			t.Errorf("the task there is %s, want it canceled", describe(there))
		}
		return true
	})
}

// TestPendingCancel stops the hub before it has carried out a cancel request.
func TestPendingCancel(t *testing.T) {
	t.Parallel()
	turn := make(chan struct{}, 1)
	turn <- struct{}{}
	p := startPair(t, counting(turn), nil)
	id := p.hub.send(now(newSend("a b"))).Head.ID
	p.hub.awaitWords(id, 1)
	p.hub.stop()
	h, err := p.hub.store.Head(t.Context(), "alice", id)
	if err != nil {
		t.Fatal(err)
	}
	next := h
	next.Rev++
	next.CancelAt = 1
	if err := p.hub.store.Append(t.Context(), &task.Change{Prev: h, Next: next}); err != nil {
		t.Fatal(err)
	}
	p.hub.start()
	if a := p.hub.get(id); a.Head.State != task.Canceled {
		p.hub.wait(id, task.Canceled)
	}
	if there := p.peer.only(); there.Head.State != task.Canceled {
		t.Errorf("the task there is %s, want it canceled", describe(there))
	}
}

// TestAnswerThatDidNotArrive loses a further message before the peer has it. The task waits
// again, with the same question.
func TestAnswerThatDidNotArrive(t *testing.T) {
	t.Parallel()
	var lose atomic.Bool
	p := startPair(t, agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, "which?"), nil)
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, agent.Text(ec.Message)), nil)
	}), nil)
	p.peer.stop()
	p.peer.wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte(`"message"`)) && lose.Swap(false) {
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		})
	}
	p.peer.start()
	id := p.hub.send(newSend("begin")).Head.ID
	lose.Store(true)
	a := p.hub.send(reply(id, "this"))
	if a.Head.State != task.InputRequired || !strings.Contains(string(a.Head.StatusMessage), "which?") {
		t.Fatalf("the task is %s, want the question again", describe(a))
	}
	if a = p.hub.send(reply(id, "that")); words(a) != "that" {
		t.Errorf("the task is %s", describe(a))
	}
}

// TestNothingSent calls unreachable agents: they have certainly received nothing, and the
// caller gets the reason at once.
func TestNothingSent(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, tt := range map[string]struct {
		card http.HandlerFunc // nil for that of the peer
		rpc  http.HandlerFunc
		want string
	}{
		"no card":      {answer(404, `{}`), nil, "is not reachable: card of "},
		"broken card":  {answer(200, `{"name":`), nil, "is not reachable: card of "},
		"card fails":   {answer(500, `{}`), nil, "is not reachable: card of "},
		"card refused": {answer(401, `{}`), nil, "rejected the hub's credentials: card of "},
		"no time":      {nil, answer(429, `{}`), "rejected the message: run message: HTTP 429"},
		"not now":      {nil, answer(503, `{}`), "rejected the message: run message: HTTP 503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := refusedBy(t, tt.card, tt.rpc)
			if want := `TASK_STATE_FAILED agent "far" ` + tt.want; !strings.HasPrefix(got, want) {
				t.Errorf("the task is %s, want %s", got, want)
			}
		})
	}
}

// refusedBy sends to a peer whose card or calls are answered by other handlers, and describes
// the task.
func refusedBy(t *testing.T, card, rpc http.HandlerFunc) string {
	t.Helper()
	p := startPair(t, counting(nil), nil)
	p.peer.stop()
	p.peer.wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch asked := strings.Contains(r.URL.Path, "/.well-known/"); {
			case asked && card != nil:
				card(w, r)
			case !asked && rpc != nil:
				rpc(w, r)
			default:
				next.ServeHTTP(w, r)
			}
		})
	}
	p.peer.start()
	return describe(p.hub.send(newSend("hi")))
}

// TestUnknownOutcomesEnd calls an agent that answers every call with an internal error, also
// queries about the message: the task has its words.
func TestUnknownOutcomesEnd(t *testing.T) {
	t.Parallel()
	got := refusedBy(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-32603,"message":"the model is gone"}}`)
	})
	want := `TASK_STATE_FAILED agent "far" failed: the model is gone`
	if !strings.HasPrefix(got, want) {
		t.Errorf("the task is %s, want %s", got, want)
	}
}

// loser loses the answers to sends. A message that ends with "later" loses its answer once the peer
// has accepted it, one that ends with "over" when it is complete.
type loser struct {
	// looked gets a value for each task that was shown; it has room for some.
	looked chan struct{}
}

func (d *loser) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		lost := &discardResponse{h: http.Header{}, began: func() {}}
		switch {
		case bytes.Contains(body, []byte(`later"`)):
			lost.began = cancel
		case !bytes.Contains(body, []byte(`over"`)):
			next.ServeHTTP(w, r)
			if bytes.Contains(body, []byte(`"GetTask"`)) {
				d.looked <- struct{}{}
			}
			return
		}
		next.ServeHTTP(lost, r.WithContext(ctx))
		panic(http.ErrAbortHandler)
	})
}

// TestOldQuestionIsNotRepeated: the hub learns of a question by looking, and not by its event, since
// the answer of the peer was lost. When it follows the task after the next message, it must not read
// the events before that question again.
func TestOldQuestionIsNotRepeated(t *testing.T) {
	t.Parallel()
	d := &loser{looked: make(chan struct{}, 100)}
	p := startPair(t, agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		said := agent.Text(ec.Message)
		if said == "2 later" {
			select { // until the hub has found the message
			case <-d.looked:
			case <-ctx.Done():
				return
			}
		}
		yield(status(ec, a2a.TaskStateInputRequired, "after "+said), nil)
	}), nil)
	p.peer.stop()
	p.peer.wrap = d.wrap
	p.peer.start()
	a := p.hub.send(newSend("0"))
	for _, said := range []string{"1 over", "2 later"} {
		for len(d.looked) > 0 {
			<-d.looked
		}
		a = p.hub.send(reply(a.Head.ID, said))
		if got := string(a.Head.StatusMessage); a.Head.State != task.InputRequired || !strings.Contains(got, "after "+said) {
			t.Fatalf("after %q the task is %s", said, describe(a))
		}
	}
}
