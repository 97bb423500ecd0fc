package hubclient_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
	"github.com/parley-a2a/parley/internal/llm/hubtools"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// Each skill of the hub's agents is a tool, except those of the model's own agent.
func TestSkills(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{})
	box := &hubtools.Toolbox{Hub: &hubclient.Hub{URL: h.URL()}, Session: "skills", Self: "clock"}
	k := kitOf(t, h, hubtools.Of(box))
	if got := strings.Join(k.order, " "); got != "a2a__echo__echo a2a__interview__interview a2a__report__report a2a__slow__slow" {
		t.Errorf("tools: %s", got)
	}
	if got := data(t, k.call("a2a__echo__echo", `{"query":"hello","tone":"kind"}`)); unquoted(t, got["response"]) != "hello" {
		t.Errorf("echo: %v", got)
	}
	r := k.call("a2a__report__report", `{"query":"a b c"}`)
	if got := data(t, r); got["media_type"] != "image/png" || len(r.Parts) != 2 {
		t.Errorf("report: %v with %d parts", got, len(r.Parts))
	}
	asked := k.with(t.Context(), "a2a__interview__interview", &llm.Call{
		Arguments: []byte(`{"query":"ask 1"}`),
		Ask: func(_ context.Context, q *llm.Question) (*llm.Answer, error) {
			return &llm.Answer{Text: "Ann"}, nil
		},
	})
	if got := data(t, asked); !strings.Contains(unquoted(t, got["response"]), "Ann") {
		t.Errorf("interview: %v", got)
	}
	key := data(t, open(t, h, "skills").call("search_working_memory", `{"query":"hello"}`))
	if len(key["notes"].([]any)) != 1 {
		t.Errorf("the result is not noted: %v", key)
	}
}

// counting counts requests and adds a header to them, like a transport inside a hub that knows
// its caller.
type counting struct{ n atomic.Int64 }

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return http.DefaultTransport.RoundTrip(r)
}

// Every request uses the given transport. An agent does not call itself.
func TestTransportAndSelf(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{})
	c := new(counting)
	hub := &hubclient.Hub{URL: h.Addr(), HTTP: &http.Client{Transport: c}}
	k := kitOf(t, h, &hubtools.Toolbox{Hub: hub, Session: "self", Self: "echo"})
	for _, args := range []string{
		`{"agent_name":"echo","skill":"echo","message":"x"}`, `{"agent_name":"Echo","skill":"echo","message":"x"}`,
	} {
		if r := k.call("invoke_agent", args); !r.Error || !strings.Contains(text(r), `You are "echo" yourself`) {
			t.Errorf("%s: %s", args, text(r))
		}
	}
	if r := k.call("chat_with_agent", `{"agent":"echo","message":"x"}`); !r.Error {
		t.Errorf("chat_with_agent: %s", text(r))
	}
	before := c.n.Load()
	k.call("invoke_agent", `{"agent_name":"clock","skill":"clock","message":"x"}`)
	if made := c.n.Load() - before; made < 3 {
		t.Errorf("%d requests went through the transport", made)
	}
}

// Callers need a key if the hub demands one. A forbidden action is a result for the model.
func TestKeys(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: keyed})
	anonymous := kitOf(t, h, &hubtools.Toolbox{Hub: &hubclient.Hub{URL: h.URL()}, Session: "x"})
	list := anonymous.tools["list_known_agents"]
	if r, err := list.Call(t.Context(), &llm.Call{}); err == nil {
		t.Errorf("without a key: %s", text(r))
	}
	user := kitOf(t, h, &hubtools.Toolbox{Hub: &hubclient.Hub{URL: h.URL(), Key: "a-key-of-ann-0123456789"}, Session: "x"})
	if got := data(t, user.call("invoke_agent", `{"agent_name":"echo","skill":"echo","message":"hi"}`)); unquoted(t, got["result"]) != "hi" {
		t.Errorf("with a key: %v", got)
	}
	if r := user.call("register_agent", `{"agent_name":"far","url":"https://agents.example.org"}`); !r.Error || !strings.Contains(text(r), "administrator") {
		t.Errorf("register_agent: %s", text(r))
	}
	if got := data(t, kitOf(t, h, &hubtools.Toolbox{Hub: &hubclient.Hub{URL: h.URL(), Key: "a-key-of-bob-0123456789"}, Session: "x"}).call("list_tasks", `{}`)); len(got["tasks"].([]any)) != 0 {
		t.Errorf("the tasks of another caller are shown: %v", got)
	}
}

const keyed = `
auth:
  api_keys:
    a-key-of-ann-0123456789: {agent_id: ann}
    a-key-of-bob-0123456789: {agent_id: bob}
`
