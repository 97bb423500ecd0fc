package remote_test

import (
	"cmp"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// TestExtensionsOfARepeatedSend kills the hub while its message is in flight: the next hub
// resends it, with the extensions of its caller beside those of the configuration.
func TestExtensionsOfARepeatedSend(t *testing.T) {
	t.Parallel()
	s := &fakePeer{hung: make(chan struct{}), turns: []turn{asks("COMPLETED", "", artifacts(artifact("a", "here")))}}
	h := startFakePeer(t, s, way{block: true}, func(a *remote.Agent) {
		a.Idempotent, a.Header = true, http.Header{"A2a-Extensions": {"urn:x:fixed, urn:x:one"}}
	})
	caller := &op.Caller{Principal: alice.Principal, Extensions: []string{"urn:x:one", "urn:x:two"}}
	a, err := h.Send(t.Context(), caller, now(newSend("hi")))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.hung:
	case <-time.After(time.Minute):
		t.Fatal("the message has not arrived")
	}
	h.restart()
	h.wait(a.Head.ID, task.Completed)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.heads) != 2 {
		t.Fatalf("the peer was asked %d times, want twice", len(s.heads))
	}
	for i, head := range s.heads {
		if got, want := head.Get("A2A-Extensions"), "urn:x:fixed,urn:x:one,urn:x:two"; got != want {
			t.Errorf("send %d names %q, want %q", i+1, got, want)
		}
	}
}

// naming is alice naming three extensions.
func naming() *op.Caller {
	return &op.Caller{Principal: alice.Principal, Extensions: []string{"urn:x:one", "urn:x:two", "urn:x:three"}}
}

// active are the extensions that an answer to naming confirms.
func active(h *hub, a *engine.Answer) string {
	return strings.Join(h.ActiveIn("far", naming().Extensions, a.Confirmed), ",")
}

// TestConfirmedByTheAnswer checks that the extensions confirmed in the answer to a message
// apply to that message, in every way of calling the peer. Later polls of its task, which
// confirm nothing, change nothing.
func TestConfirmedByTheAnswer(t *testing.T) {
	t.Parallel()
	for _, w := range fourWays {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			asks := func(text, confirms string) turn {
				status := `,"message":{"messageId":"q` + text + `","role":"ROLE_AGENT","parts":[{"text":"` + text + `?"}]}`
				answer := snap("INPUT_REQUIRED", status, "")
				return turn{answer: task0(answer), frames: []string{task0(answer)}, tasks: []string{answer}, confirms: confirms}
			}
			done := snap("COMPLETED", "", artifacts(artifact("a", "here")))
			s := &fakePeer{turns: []turn{
				asks("first", "urn:x:three, urn:x:other,urn:x:one"),
				asks("second", ""),
				{answer: task0(snap("WORKING", "", "")), frames: []string{statusUpdated("WORKING", "", "")}, tasks: []string{snap("WORKING", "", ""), done}, confirms: "urn:x:two"},
			}}
			h := startFakePeer(t, s, w, nil)
			var id a2a.TaskID
			for i, want := range []string{"urn:x:one,urn:x:three", "", "urn:x:two"} {
				r := newSend(strings.Repeat("hi", i+1))
				r.Message.TaskID = id
				a, err := h.Send(t.Context(), naming(), r)
				if err != nil {
					t.Fatal(err)
				}
				id = a.Head.ID
				if got := active(h, a); a.Confirmed == nil || got != want {
					t.Errorf("answer %d confirms %q (said: %t), want %q of the agent", i+1, got, a.Confirmed != nil, want)
				}
			}
		})
	}
}

// TestRefusedConfirmsNothing checks that extensions confirmed for an earlier message of the
// task do not apply to a message that the peer refuses.
func TestRefusedConfirmsNothing(t *testing.T) {
	t.Parallel()
	question := snap("INPUT_REQUIRED", `,"message":{"messageId":"q","role":"ROLE_AGENT","parts":[{"text":"which?"}]}`, "")
	s := &fakePeer{turns: []turn{{answer: task0(question), tasks: []string{question}, confirms: "urn:x:one"}, {refused: true}}}
	h := startFakePeer(t, s, way{block: true}, nil)
	a, err := h.Send(t.Context(), naming(), newSend("hi"))
	if err != nil {
		t.Fatal(err)
	}
	if a, err = h.Send(t.Context(), naming(), reply(a.Head.ID, "this")); err != nil || a.Head.State != task.Failed {
		t.Fatalf("the refused message: %s, %v", describe(a), err)
	}
	if got := active(h, a); a.Confirmed == nil || got != "" {
		t.Errorf("the answer confirms %q (said: %t), want nothing", got, a.Confirmed != nil)
	}
}

// TestConfirmedBeforeARestart checks that a hub restarted while an agent works knows the
// extensions that the agent has confirmed.
func TestConfirmedBeforeARestart(t *testing.T) {
	t.Parallel()
	for _, confirms := range []string{"urn:x:two", ""} {
		t.Run(cmp.Or(confirms, "nothing"), func(t *testing.T) {
			t.Parallel()
			working, done := snap("WORKING", "", ""), snap("COMPLETED", "", artifacts(artifact("a", "here")))
			s := &fakePeer{turns: []turn{{answer: task0(working), tasks: []string{working}, confirms: confirms}}}
			far := &remote.Agent{URL: s.start(t), Poll: 10 * time.Millisecond, ReturnImmediately: true}
			t.Cleanup(func() { far.Close() })
			h := startHub(t, map[string]a2asrv.AgentExecutor{"far": far}, func(h *parley.Hub) { h.Idempotency.MessageID = true })
			first, err := h.Send(t.Context(), naming(), now(newSend("hi")))
			if err != nil {
				t.Fatal(err)
			}
			h.wait(first.Head.ID, task.Working)
			h.restart()
			// A reader keeps the task in memory until the caller has reconnected.
			reader, err := h.Subscribe(t.Context(), naming(), &op.Subscribe{ID: first.Head.ID})
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			s.mu.Lock()
			s.turns[0].tasks = []string{done}
			s.mu.Unlock()
			a, err := h.Send(t.Context(), naming(), newSend("hi"))
			if err != nil || a.Head.ID != first.Head.ID || a.Head.State != task.Completed {
				t.Fatalf("the same message again: %s, %v", describe(a), err)
			}
			if got := active(h, a); a.Confirmed == nil || got != confirms {
				t.Errorf("the answer confirms %q (said: %t), want %q of the agent", got, a.Confirmed != nil, confirms)
			}
		})
	}
}
