package remote_test

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

func TestRemoteTask(t *testing.T) {
	t.Parallel()
	p := startPair(t, counting(nil), nil)
	a := p.hub.send(newSend("one two three"))
	if got, want := describe(a), "TASK_STATE_COMPLETED one two three "; !strings.HasPrefix(got, want) {
		t.Errorf("the task is %s, want %s", got, want)
	}
	if got := strings.Join(p.hub.chunks(a.Head.ID), "|"); got != "one |two |three" {
		t.Errorf("chunks %q", got)
	}
	there := p.peer.only()
	if there.Head.State != task.Completed || there.Head.ID == a.Head.ID || there.Head.ContextID == a.Head.ContextID {
		t.Errorf("the task there is %s in context %s", describe(there), there.Head.ContextID)
	}
}

// TestContextsBelongTogether sends twice in one context, and once as another caller in a
// context with the same name.
func TestContextsBelongTogether(t *testing.T) {
	t.Parallel()
	p := startPair(t, counting(nil), nil)
	bob := *alice.Principal
	bob.ID = "bob"
	for _, c := range []*op.Caller{alice, alice, {Principal: &bob}} {
		r := newSend("hi")
		r.Message.ContextID = "ours"
		if _, err := p.hub.Send(t.Context(), c, r); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	for _, a := range p.peer.all() {
		seen[a.Head.ContextID]++
	}
	if len(seen) != 2 {
		t.Errorf("contexts there: %v, want one of alice with two tasks and one of bob", seen)
	}
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	for _, streaming := range []bool{true, false} {
		t.Run(map[bool]string{true: "streaming", false: "polling"}[streaming], func(t *testing.T) {
			t.Parallel()
			asking := agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				if ec.StoredTask == nil || len(ec.StoredTask.History) < 5 {
					yield(status(ec, a2a.TaskStateInputRequired, "and then?"), nil)
					return
				}
				yield(status(ec, a2a.TaskStateCompleted, "enough"), nil)
			})
			p := startPair(t, asking, quick(!streaming))
			a := p.hub.send(newSend("begin"))
			for i := range 6 {
				if a.Head.State == task.Completed {
					break
				}
				if a.Head.State != task.InputRequired || !strings.Contains(string(a.Head.StatusMessage), "and then?") {
					t.Fatalf("after %d answers the task is %s", i, describe(a))
				}
				a = p.hub.send(reply(a.Head.ID, strings.Repeat("more", i+1)))
			}
			if got := words(a); got != "enough" || a.Head.State != task.Completed {
				t.Errorf("the task ended as %s", describe(a))
			}
			if there := p.peer.only(); there.Head.State != task.Completed {
				t.Errorf("the task there is %s", describe(there))
			}
		})
	}
}

func TestAuthRequired(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]bool{"by itself": false, "with a message": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			granted := make(chan struct{})
			x := agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				if ec.StoredTask == nil {
					if !yield(status(ec, a2a.TaskStateAuthRequired, "who are you?"), nil) || message {
						return
					}
					select {
					case <-granted:
					case <-ctx.Done():
						return
					}
				}
				yield(status(ec, a2a.TaskStateCompleted, "welcome"), nil)
			})
			p := startPair(t, x, quick(false))
			a := p.hub.send(newSend("open"))
			if a.Head.State != task.AuthRequired {
				t.Fatalf("the task is %s, want AUTH_REQUIRED", describe(a))
			}
			if message {
				a = p.hub.send(reply(a.Head.ID, "it is me"))
			} else {
				close(granted)
				a = p.hub.wait(a.Head.ID, task.Completed)
			}
			if words(a) != "welcome" {
				t.Errorf("the task is %s", describe(a))
			}
			if there := p.peer.only(); there.Head.State != task.Completed {
				t.Errorf("the task there is %s", describe(there))
			}
		})
	}
}

func TestEndings(t *testing.T) {
	t.Parallel()
	for _, state := range []a2a.TaskState{a2a.TaskStateRejected, a2a.TaskStateFailed, a2a.TaskStateCanceled, a2a.TaskStateCompleted} {
		p := startPair(t, agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			ev := status(ec, state, "because").(*a2a.TaskStatusUpdateEvent)
			ev.Metadata = map[string]any{"k": "v"}
			yield(ev, nil)
		}), nil)
		a := p.hub.send(newSend("hi"))
		if a.Head.State.A2A() != state || words(a) != "because" {
			t.Errorf("the task is %s, want %s", describe(a), state)
		}
		if got := string(a.Fold.AppendTask(nil, &a.Head, task.TaskOptions{})); !strings.Contains(got, `"metadata":{"k":"v"}`) {
			t.Errorf("the metadata is lost: %s", got)
		}
	}
}

func TestMessageIsAnAnswer(t *testing.T) {
	t.Parallel()
	greeter := agent.Func(func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("hello")), nil)
	})
	// Later, a hub shows a task instead.
	patient := func(p *parley.Hub) { p.Limits.FirstEvent = time.Minute }
	peer := startHub(t, map[string]a2asrv.AgentExecutor{"worker": greeter}, patient)
	far := &remote.Agent{URL: peer.url()}
	t.Cleanup(func() { far.Close() })
	h := startHub(t, map[string]a2asrv.AgentExecutor{"far": far}, patient)
	if a := h.send(newSend("hi")); a.Message == nil || !strings.Contains(string(a.Message), `"hello"`) {
		t.Errorf("the answer is %+v, want a message", a)
	}
}

// cancel cancels a task of the hub, which must then be canceled at both.
func (p *pair) cancel(t *testing.T, id a2a.TaskID) {
	t.Helper()
	if _, err := p.hub.Cancel(t.Context(), alice, &op.Cancel{ID: id}); err != nil {
		t.Fatal(err)
	}
	if here, there := p.hub.get(id), p.peer.only(); here.Head.State != task.Canceled || there.Head.State != task.Canceled {
		t.Errorf("the task is %s here, and %s there", describe(here), describe(there))
	}
}

func TestCancelReachesThePeer(t *testing.T) {
	t.Parallel()
	for _, streaming := range []bool{true, false} {
		turn := make(chan struct{}, 1)
		turn <- struct{}{}
		p := startPair(t, counting(turn), quick(!streaming))
		id := p.hub.send(now(newSend("one two three"))).Head.ID
		p.hub.wait(id, task.Working)
		p.cancel(t, id)
	}
}

func TestCancelIsRefused(t *testing.T) {
	t.Parallel()
	turn := make(chan struct{}, 3)
	x := &stubborn{counting(turn)}
	p := startPair(t, x, nil)
	id := p.hub.send(now(newSend("one two three"))).Head.ID
	p.hub.wait(id, task.Working)
	if _, err := p.hub.Cancel(t.Context(), alice, &op.Cancel{ID: id}); err == nil || !strings.Contains(err.Error(), "cancel") {
		t.Errorf("Cancel = %v, want TaskNotCancelable", err)
	}
	for range 3 {
		turn <- struct{}{}
	}
	p.hub.wait(id, task.Completed)
	if got := strings.Join(p.hub.chunks(id), ""); got != "one two three" {
		t.Errorf("the answer is %q", got)
	}
}

// hesitant refuses the first request to cancel a task, as some servers do before a run has started.
type hesitant struct {
	agent.Func
	asked atomic.Bool
}

func (h *hesitant) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if !h.asked.Swap(true) {
			yield(nil, a2a.ErrTaskNotCancelable)
			return
		}
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

func TestCancelIsRepeated(t *testing.T) {
	t.Parallel()
	turn := make(chan struct{}, 1)
	p := startPair(t, &hesitant{Func: counting(turn)}, nil)
	id := p.hub.send(now(newSend("one two three"))).Head.ID
	p.hub.wait(id, task.Working)
	p.cancel(t, id)
}

// forgetful is a proxy for a peer that forgets a task when it is asked to cancel it. It answers
// the cancellation once the task was requested in vain.
func forgetful(t *testing.T, peer string) string {
	t.Helper()
	target, err := url.Parse(peer)
	if err != nil {
		t.Fatal(err)
	}
	var forgotten atomic.Bool
	looked := make(chan struct{})
	look := sync.OnceFunc(func() { close(looked) })
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case bytes.Contains(body, []byte(`"CancelTask"`)):
			forgotten.Store(true)
			select {
			case <-looked:
			case <-r.Context().Done():
			}
		case forgotten.Load():
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-32001,"message":"Task not found"}}`)
			look()
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestCancelAtAPeerThatForgets(t *testing.T) {
	t.Parallel()
	p := startPair(t, counting(make(chan struct{})), func(a *remote.Agent) {
		quick(true)(a)
		a.URL = forgetful(t, a.URL)
	})
	id := p.hub.send(now(newSend("one two three"))).Head.ID
	p.hub.wait(id, task.Working)
	if _, err := p.hub.Cancel(t.Context(), alice, &op.Cancel{ID: id}); err != nil {
		t.Errorf("Cancel = %v", err)
	}
	if here := p.hub.get(id); here.Head.State != task.Canceled {
		t.Errorf("the task is %s, want it to be canceled", describe(here))
	}
}
