package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/testing/testenv"
	"github.com/parley-a2a/parley/task"
)

// startRing starts hubs with one agent each, which calls the agent of the next hub. The agent
// of the last hub calls the first, unless worker is given, which then is that agent.
func startRing(t *testing.T, worker a2asrv.AgentExecutor, names ...string) []*hub {
	t.Helper()
	agents, hubs := make([]*remote.Agent, len(names)), make([]*hub, len(names))
	for i, name := range names {
		agents[i] = new(remote.Agent)
		var x a2asrv.AgentExecutor = agents[i]
		if worker != nil && i == len(names)-1 {
			x = worker
		}
		hubs[i] = startHub(t, map[string]a2asrv.AgentExecutor{name: x}, nil)
		t.Cleanup(func() { agents[i].Close() })
	}
	for i := range agents {
		agents[i].URL = hubs[(i+1)%len(hubs)].url()
	}
	return hubs
}

// TestCircleIsRefused calls an agent that calls a second one that calls a third one, which
// calls the first one again.
func TestCircleIsRefused(t *testing.T) {
	t.Parallel()
	hubs := startRing(t, nil, "one", "two", "three")
	a, err := hubs[0].Send(t.Context(), alice, newSend("hi"))
	got := ""
	if err != nil {
		got = err.Error()
	} else {
		got = describe(a)
	}
	at := -1
	for _, want := range []string{"in a circle: ", "one@", " → two@", " → three@", " → one@"} {
		i := strings.Index(got[max(at, 0):], want)
		if i < 0 {
			t.Fatalf("the answer is %q, want a chain with %q", got, want)
		}
		at = max(at, 0) + i + 1
	}
	if n := len(hubs[0].all()); n != 0 {
		t.Errorf("the first hub has %d tasks of the third one, want none", n)
	}
}

// TestHopsAreLeft calls with two hops left, which the second hub uses up.
func TestHopsAreLeft(t *testing.T) {
	t.Parallel()
	hubs := startRing(t, counting(nil), "one", "two", "three", "four")
	for hops, want := range map[string]string{"2": "the delegation chain is too long: one@", "3": "COMPLETED"} {
		r := newSend("hops " + hops)
		r.Metadata = []byte(`{"parley.hops":` + hops + `}`)
		a, err := hubs[0].Send(t.Context(), alice, r)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = describe(a)
		}
		if !strings.Contains(got, want) {
			t.Errorf("with %s hops the answer is %q, want %q", hops, got, want)
		}
	}
	if n := len(hubs[3].all()); n != 1 {
		t.Errorf("the last agent was asked %d times, want once", n)
	}
}

// TestDeadlineTravels sets a deadline at the first hub, and reads it at the third.
func TestDeadlineTravels(t *testing.T) {
	t.Parallel()
	given(t, 4*time.Second, func(limit time.Duration) bool { return deadlineTravels(t, limit) })
}

// deadlineTravels reports whether the third hub was called before the deadline, in limit.
func deadlineTravels(t *testing.T, limit time.Duration) bool {
	t.Helper()
	seen := make(chan *agent.DelegationContext, 1)
	worker := agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		e, err := agent.CallFrom(ctx).OutgoingDelegation(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		seen <- e
		<-ctx.Done()
	})
	hubs := startRing(t, worker, "one", "two", "three")
	want := time.Now().Add(limit).UTC().Truncate(time.Millisecond)
	caller := &op.Caller{Principal: alice.Principal, Params: map[string][]string{"x-parley-deadline": {want.Format(time.RFC3339Nano)}}}
	a, err := hubs[0].Send(t.Context(), caller, newSend("hurry"))
	if len(seen) == 0 && time.Now().After(want) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	if a.Head.State != task.Failed || time.Now().Before(want) { // without the deadline it would not end
		t.Errorf("at %v the task is %s, want FAILED after %v", time.Now(), describe(a), want)
	}
	if text := describe(a); !strings.Contains(text, "deadline") {
		t.Errorf("the caller receives %s, want that the deadline has passed", text)
	}
	got := <-seen
	if !got.Deadline.Equal(want) {
		t.Errorf("the third hub sees the deadline %v, want %v", got.Deadline, want)
	}
	names := make([]string, len(got.Chain))
	for i, n := range got.Chain {
		names[i], _, _ = strings.Cut(n, "@")
	}
	if want := []string{"one", "two", "three"}; !slices.Equal(names, want) {
		t.Errorf("the chain is %q, want %q", names, want)
	}
	if there := hubs[2].only(); there.Head.State == task.Working || there.Head.State == task.Submitted {
		t.Errorf("the task of the third hub is still %s", describe(there))
	}
	return true
}

// TestDelegationIsSentTwice: a message carries its deadline and its chain in headers and in its metadata,
// for agents that pass on only one of both.
func TestDelegationIsSentTwice(t *testing.T) {
	t.Parallel()
	type delegated struct{ deadline, chain string }
	got := make(chan [2]delegated, 10)
	far := &hub{t: t, store: new(memstore.Store), addr: testenv.Addr(t), agents: map[string]a2asrv.AgentExecutor{"two": counting(nil)}}
	far.wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			var body struct {
				Params struct {
					Metadata struct {
						Deadline string   `json:"parley.deadline"`
						Chain    []string `json:"parley.chain"`
					}
				}
			}
			if m := &body.Params.Metadata; json.Unmarshal(b, &body) == nil && (r.Header.Get("X-Parley-Chain") != "" || m.Chain != nil) {
				got <- [2]delegated{{r.Header.Get("X-Parley-Deadline"), r.Header.Get("X-Parley-Chain")}, {m.Deadline, strings.Join(m.Chain, ", ")}}
			}
			r.Body = io.NopCloser(bytes.NewReader(b))
			next.ServeHTTP(w, r)
		})
	}
	far.start()
	t.Cleanup(func() { far.stop() })
	one := &remote.Agent{URL: far.url()}
	near := startHub(t, map[string]a2asrv.AgentExecutor{"one": one}, nil)
	t.Cleanup(func() { one.Close() })
	want := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	caller := &op.Caller{Principal: alice.Principal, Params: map[string][]string{"x-parley-deadline": {want.Format(time.RFC3339Nano)}}}
	a, err := near.Send(t.Context(), caller, newSend("hi"))
	if err != nil || a.Head.State != task.Completed {
		t.Fatalf("Send = %v, %v", a, err)
	}
	if len(got) == 0 {
		t.Fatal("the message carries no delegation")
	}
	message := <-got
	for i, where := range []string{"headers", "metadata"} {
		if at, err := time.Parse(time.RFC3339Nano, message[i].deadline); err != nil || !at.Equal(want) || !strings.HasPrefix(message[i].chain, "one@") {
			t.Errorf("the %s are %+v, want the deadline %v and a chain from one", where, message[i], want)
		}
	}
}

// delegating calls the agent "far" of its hub.
func delegating() agent.Func {
	return func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if !yield(status(ec, a2a.TaskStateWorking, "asking"), nil) {
			return
		}
		got, err := agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{Agent: "far", Message: ec.Message, Key: "far"})
		if err != nil {
			yield(status(ec, a2a.TaskStateFailed, err.Error()), nil)
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, got.Text), nil)
	}
}

// TestCancelReachesTheThirdHub cancels a task whose agent has called an agent elsewhere, which
// has done the same. The cancellation waits for no poll: none comes before the test fails.
func TestCancelReachesTheThirdHub(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan struct{})
	worker := agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(status(ec, a2a.TaskStateWorking, "busy"), nil)
		close(began)
		<-ctx.Done()
		close(ended)
	})
	third := startHub(t, map[string]a2asrv.AgentExecutor{"worker": worker}, nil)
	toThird := &remote.Agent{URL: third.url(), Target: "worker", Poll: time.Hour}
	second := startHub(t, map[string]a2asrv.AgentExecutor{"mid": delegating(), "far": toThird}, nil)
	toSecond := &remote.Agent{URL: second.url() + "/a2a/mid", Poll: time.Hour}
	first := startHub(t, map[string]a2asrv.AgentExecutor{"boss": delegating(), "far": toSecond}, nil)
	t.Cleanup(func() { toThird.Close(); toSecond.Close() })
	r := now(newSend("work"))
	r.Target.Agent = "boss"
	id := first.send(r).Head.ID
	<-began
	page, err := first.List(t.Context(), alice, &op.List{Target: op.Target{Agent: "far"}, PageSize: 10})
	if err != nil || len(page.Tasks) != 1 {
		t.Fatalf("List = %v, %v, want the child", page, err)
	}
	first.wait(page.Tasks[0].Head.ID, task.Working)
	if _, err := first.Cancel(t.Context(), alice, &op.Cancel{ID: id}); err != nil {
		t.Fatalf("Cancel = %v", err)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatalf("the task of the third hub continues: %s", describe(third.only()))
	}
}

// TestAnswerToATaskThatHasEnded answers a question whose task has ended at the peer meanwhile.
// The caller gets the final state, unless it claims that the task was completed without the
// answer.
func TestAnswerToATaskThatHasEnded(t *testing.T) {
	t.Parallel()
	p := startPair(t, agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(status(ec, a2a.TaskStateInputRequired, "which?"), nil)
	}), nil)
	id := p.hub.send(newSend("begin")).Head.ID
	there := p.peer.only().Head
	if _, err := p.peer.Cancel(t.Context(), &op.Caller{Principal: &auth.Principal{ID: string(there.Owner)}}, &op.Cancel{ID: there.ID}); err != nil {
		t.Fatal(err)
	}
	if a := p.hub.send(reply(id, "this")); a.Head.State != task.Canceled {
		t.Errorf("the task is %s here, and %s there", describe(a), describe(p.peer.only()))
	}
}
