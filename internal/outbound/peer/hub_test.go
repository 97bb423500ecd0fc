package peer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/internal/testing/dialecttest"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/push"
)

// startHub serves the built-in agents and returns their address.
func startHub(t *testing.T) string {
	t.Helper()
	hub := &parley.Hub{Push: push.Options{Allow: []string{"loopback"}}}
	for _, a := range builtin.Agents() {
		hub.Handle(a.Card, a.Executor)
	}
	url, _ := hubtest.Run(t, hub)
	return url
}

// tongue is a binding and dialect of the hub.
type tongue struct {
	name    string
	layout  card.Layout
	path    string // with the agent's name in it
	binding a2a.TransportProtocol
	version a2a.ProtocolVersion
	dialect string
}

var tongues = []tongue{
	{"v1.0 rpc", card.V1, "/a2a/%s", a2a.TransportProtocolJSONRPC, "1.0", ""},
	{"v1.0 rest", card.V1, "/v1/a2a/%s", a2a.TransportProtocolHTTPJSON, "1.0", ""},
	{"v0.3 rpc", card.V03, "/a2a/%s", a2a.TransportProtocolJSONRPC, "0.3.0", ""},
	{"v0.3 rest", card.V03, "", a2a.TransportProtocolHTTPJSON, "0.3.0", ""},
	{"derived", card.Other, "/a2a/%s", a2a.TransportProtocolJSONRPC, "0.3.0", dialecttest.Derived},
	{"gateway", card.V1, "/a2a/%s", a2a.TransportProtocolJSONRPC, "1.0", dialecttest.Gateway},
	{"job", card.Jobs, "/a2a/%s/tasks/send", card.TaskSend, "", ""},
}

// dial returns an agent of a hub, called in one dialect.
func (w tongue) dial(t *testing.T, hub, agent string, o peer.Options) *peer.Peer {
	t.Helper()
	i := &a2a.AgentInterface{URL: hub + w.path, ProtocolBinding: w.binding, ProtocolVersion: w.version}
	if strings.Contains(w.path, "%s") {
		i.URL = hub + fmt.Sprintf(w.path, agent)
	} else {
		i.Tenant = agent
	}
	c := &card.Card{Layout: w.layout, A2A: &a2a.AgentCard{
		Name: agent, SupportedInterfaces: []*a2a.AgentInterface{i},
		Capabilities: a2a.AgentCapabilities{Streaming: true},
	}}
	if w.layout == card.Other {
		c.Dialect = w.dialect
	} else {
		o.Dialect = w.dialect
	}
	p, err := peer.New(c, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// eachTongue runs f in every dialect.
func eachTongue(t *testing.T, f func(t *testing.T, w tongue, hub string)) {
	hub := startHub(t)
	for _, w := range tongues {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			f(t, w, hub)
		})
	}
}

// messageOf returns the params of a message with a text.
func messageOf(text string) []byte {
	return fmt.Appendf(nil, `{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]}}`, a2a.NewMessageID(), text)
}

// reply returns the params of an answer to a task.
func reply(e peer.Event, text string) []byte {
	return fmt.Appendf(nil, `{"message":{"messageId":%q,"role":"ROLE_USER","taskId":%q,"contextId":%q,"parts":[{"text":%q}]}}`,
		a2a.NewMessageID(), e.TaskID, e.ContextID, text)
}

// collect runs a message to its end.
func collect(t *testing.T, p *peer.Peer, params []byte) []peer.Event {
	t.Helper()
	var all []peer.Event
	for e, err := range p.Run(t.Context(), params) {
		if err != nil {
			t.Fatalf("Run() = %v after %d events", err, len(all))
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		t.Fatal("Run() yields nothing")
	}
	return all
}

func TestSendInEveryDialect(t *testing.T) {
	t.Parallel()
	eachTongue(t, func(t *testing.T, w tongue, hub string) {
		p := w.dial(t, hub, "echo", peer.Options{})
		e, err := p.Send(t.Context(), messageOf("hello there"))
		if err != nil {
			t.Fatalf("Send() = %v", err)
		}
		if !strings.Contains(string(e.JSON), `"text":"hello there"`) {
			t.Errorf("Send() = %s, want the echo", e.JSON)
		}
		if w.name != "gateway" && (e.Kind != peer.Task || e.State != a2a.TaskStateCompleted || e.TaskID == "") {
			t.Errorf("Send() = %+v, want a completed task", e)
		}
		if w.name == "gateway" && e.Kind != peer.Message {
			t.Errorf("Send() = %+v, want a message, as the gateway has it", e)
		}
	})
}

func TestRunInEveryDialect(t *testing.T) {
	t.Parallel()
	eachTongue(t, func(t *testing.T, w tongue, hub string) {
		p := w.dial(t, hub, "echo", peer.Options{})
		all := collect(t, p, messageOf("one two"))
		last := all[len(all)-1]
		if last.State != a2a.TaskStateCompleted || last.TaskID == "" {
			t.Errorf("Run() ends with %+v, want a completed task", last)
		}
		var whole strings.Builder
		for _, e := range all {
			whole.Write(e.JSON)
		}
		if s := whole.String(); !strings.Contains(s, `"text":"one two"`) && !(strings.Contains(s, `"text":"one "`) && strings.Contains(s, `"text":"two"`)) {
			t.Errorf("Run() = %s, want the echo", &whole)
		}
		if w.binding == card.TaskSend {
			return
		}
		if got, err := p.Get(t.Context(), last.TaskID, nil); err != nil || got.State != a2a.TaskStateCompleted {
			t.Errorf("Get() = %+v, %v, want the task", got, err)
		}
		var seen []peer.Event
		for e, err := range p.Follow(t.Context(), transport.Position{Task: last.TaskID}) {
			if err != nil {
				t.Fatalf("Follow() = %v", err)
			}
			seen = append(seen, e)
		}
		if len(seen) != 1 || seen[0].State != a2a.TaskStateCompleted {
			t.Errorf("Follow() of a task that has ended = %+v, want it once", seen)
		}
	})
}

func TestQuestionInEveryDialect(t *testing.T) {
	t.Parallel()
	eachTongue(t, func(t *testing.T, w tongue, hub string) {
		p := w.dial(t, hub, "interview", peer.Options{})
		all := collect(t, p, messageOf("hello"))
		asks := all[len(all)-1]
		if asks.State != a2a.TaskStateInputRequired {
			t.Fatalf("Run() ends with %s, want a question", asks.JSON)
		}
		for range 5 {
			all = collect(t, p, reply(asks, "Ada"))
			if asks = all[len(all)-1]; asks.State.Terminal() {
				break
			}
		}
		if asks.State != a2a.TaskStateCompleted {
			t.Errorf("after the answers the task is %s, want it completed", asks.JSON)
		}
	})
}

func TestCancelInEveryDialect(t *testing.T) {
	t.Parallel()
	eachTongue(t, func(t *testing.T, w tongue, hub string) {
		p := w.dial(t, hub, "slow", peer.Options{})
		if w.binding == card.TaskSend {
			if _, err := p.Cancel(t.Context(), "x", nil); !errors.Is(err, peer.ErrUnsupported) {
				t.Errorf("Cancel() = %v, want ErrUnsupported", err)
			}
			return
		}
		var last peer.Event
		for e, err := range p.Run(t.Context(), messageOf("1m")) {
			if err != nil {
				t.Fatalf("Run() = %v", err)
			}
			if last.TaskID == "" {
				got, err := p.Cancel(t.Context(), e.TaskID, []byte(`{"why":"test"}`))
				if err != nil || got.TaskID != e.TaskID {
					t.Fatalf("Cancel() = %+v, %v", got, err)
				}
			}
			last = e
		}
		if last.State != a2a.TaskStateCanceled {
			t.Errorf("Run() ends with %s, want it canceled", last.JSON)
		}
		if _, err := p.Cancel(t.Context(), last.TaskID, nil); err == nil {
			t.Error("a task is canceled twice")
		}
	})
}

// TestAbortCancelsTheRemoteTask checks that an abort of the caller cancels the remote task,
// unless the caller only detaches.
func TestAbortCancelsTheRemoteTask(t *testing.T) {
	t.Parallel()
	eachTongue(t, func(t *testing.T, w tongue, hub string) {
		if w.binding == card.TaskSend {
			return // jobs cannot be canceled
		}
		p := w.dial(t, hub, "slow", peer.Options{})
		for _, detach := range []bool{false, true} {
			gone := errors.New("the caller is gone")
			if detach {
				gone = fmt.Errorf("restart: %w", peer.ErrDetached)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var id a2a.TaskID
			var last error
			for e, err := range p.Run(ctx, messageOf("1m")) {
				if last = err; err == nil {
					id = e.TaskID
					cancel(gone)
				}
			}
			if !errors.Is(last, gone) {
				t.Errorf("Run() ends with %v, want the cause of the abort", last)
			}
			got, err := p.Get(t.Context(), id, nil)
			if err != nil || (got.State == a2a.TaskStateCanceled) == detach {
				t.Errorf("detached %t: the remote task is %s, %v", detach, got.State, err)
			}
			if detach {
				p.Cancel(t.Context(), id, nil)
			}
		}
	})
}

func TestListInEveryDialect(t *testing.T) {
	t.Parallel()
	eachTongue(t, func(t *testing.T, w tongue, hub string) {
		p := w.dial(t, hub, "echo", peer.Options{})
		made, err := p.Send(t.Context(), []byte(`{"message":{"messageId":"m","contextId":"of `+w.name+`","role":"ROLE_USER","parts":[{"text":"x"}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		page, err := p.List(t.Context(), []byte(`{"contextId":"of `+w.name+`"}`))
		switch w.name {
		case "v0.3 rest", "job":
			if !errors.Is(err, peer.ErrUnsupported) {
				t.Errorf("List() = %s, %v, want ErrUnsupported", page, err)
			}
			return
		}
		if err != nil || !strings.Contains(string(page), `"state":"TASK_STATE_COMPLETED"`) || !strings.Contains(string(page), string(made.TaskID)) {
			t.Errorf("List() = %s, %v, want the task", page, err)
		}
	})
}
