package rockbot_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rb "github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

// TestHandlers: an agent of parley.yaml has a program for each skill, matched without case.
func TestHandlers(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	primary := rb.StartCaller(t, url, "Primary")
	hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf(`
bus: {url: "off"}
rockbot: {url: %q, serve: [tools]}
agents:
  - name: tools
    skills:
      - {id: echo, description: Echoes., command: [cat]}
      - {id: Shout, description: Shouts., command: [tr, a-z, A-Z]}
`, url)})
	t.Run("C24", func(t *testing.T) {
		var ids []string
		for card := primary.Card(); ids == nil; {
			for i := range card.Skills {
				ids = append(ids, rb.Val(card.Skills[i].ID))
			}
		}
		if diff := cmp.Diff([]string{"echo", "Shout"}, ids); diff != "" {
			t.Errorf("announced skills (-want +got):\n%s", diff)
		}
		for skill, want := range map[string]string{"ECHO": "hello", "shout": "HELLO"} {
			r := request("hello")
			r.Skill = &skill
			primary.Invoke("tools", r)
			if got := primary.Reply().Result; got == nil || got.State != rb.Completed || got.Message.Text() != want {
				t.Errorf("%s answers %+v", skill, got)
			}
		}
		r := request("hello")
		r.Skill = rb.Ptr("sing")
		primary.Invoke("tools", r)
		if got := primary.Reply().Result; got == nil || got.State != rb.Failed || !strings.Contains(got.Message.Text(), "Its owner was notified") {
			t.Errorf("an unknown skill is answered with %+v", got)
		}
		primary.Invoke("tools", request("hello")) // general: no particular skill
		if got := primary.Reply().Result; got == nil || got.State != rb.Failed || !strings.Contains(got.Message.Text(), "names no skill; there are: echo, Shout") {
			t.Errorf("no skill is answered with %+v", got)
		}
	})
	t.Run("both", func(t *testing.T) {
		h := hubtest.New(t, hubtest.Options{Config: "agents:\n  - {name: a, command: [cat], skills: [{id: s, command: [cat]}]}\n"})
		const want = "agents[0].skills[0].command: the agent has a command for all skills"
		if err := h.Start(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a hub with both starts with %v, want %s", err, want)
		}
	})
}

// TestWaitsForURL: a message to a well-known HTTP agent that is not running waits until it
// starts.
func TestWaitsForURL(t *testing.T) {
	t.Parallel()
	far := hubtest.New(t, hubtest.Options{Config: "bus: {url: \"off\"}\n"})
	near := hubtest.New(t, hubtest.Options{Config: fmt.Sprintf("bus: {url: \"off\"}\nauth: {api_keys: {%s: {agent_id: alice}}}\n", aliceKey)})
	if err := os.MkdirAll(near.Data(), 0o700); err != nil {
		t.Fatal(err)
	}
	entry := fmt.Sprintf(`[{"agentName": "FarAgent", "url": %q}]`, far.URL())
	if err := os.WriteFile(filepath.Join(near.Data(), "well-known-agents.json"), []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := near.Start(); err != nil {
		t.Fatal(err)
	}
	alice := &caller{t, near, aliceKey}
	id := alice.text("faragent", "b25", "are you there").ID
	ctx, cancel := context.WithTimeout(t.Context(), 14*time.Second) // the hub fails messages to other agents before
	defer cancel()
	var got taskOf
	for ctx.Err() == nil {
		_ = alice.changed(ctx, "faragent", id, got.Status.State) // the error marks the end of the time
		got = taskOf{}
		if err := alice.rpc("faragent", "GetTask", fmt.Sprintf(`{"id":%q}`, id), &got); err != nil {
			t.Fatal(err)
		}
		if got.Status.State == "TASK_STATE_FAILED" {
			t.Fatalf("the message does not wait: %s", got.Status.Message)
		}
	}
	if err := far.Start(); err != nil {
		t.Fatal(err)
	}
	if done := alice.wait("faragent", id, "TASK_STATE_COMPLETED"); !strings.Contains(string(done.Artifacts), "are ") {
		t.Errorf("completed with %s", done.Artifacts)
	}
}

// pinned is an HTTP agent without a card that answers each message.
type pinned struct {
	mu   sync.Mutex // guards the field below
	seen []string
}

// ServeHTTP implements http.Handler.
func (p *pinned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.seen = append(p.seen, r.Method)
	p.mu.Unlock()
	var call struct{ ID json.RawMessage }
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&call) != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"kind":"message","role":"agent","messageId":"m","parts":[{"kind":"text","text":"here"}]}}`, call.ID)
}

// TestPinned: an entry with skills is used unchanged, no card is fetched, and the agent counts
// as seen after its first answer.
func TestPinned(t *testing.T) {
	t.Parallel()
	agent := new(pinned)
	server := httptest.NewServer(agent)
	t.Cleanup(server.Close)
	h := hubtest.New(t, hubtest.Options{Config: fmt.Sprintf("bus: {url: \"off\"}\nauth: {api_keys: {%s: {agent_id: alice}}}\n", aliceKey)})
	if err := os.MkdirAll(h.Data(), 0o700); err != nil {
		t.Fatal(err)
	}
	entry := fmt.Sprintf(`[{"agentName": "PinnedAgent", "url": %q, "skills": [{"id": "dig", "name": "Dig", "description": "Digs."}]}]`, server.URL)
	if err := os.WriteFile(filepath.Join(h.Data(), "well-known-agents.json"), []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	if a := agents(t, h)["pinnedagent"]; a.LastSeen != "well-known (not yet seen this session)" || len(a.Skills) != 1 {
		t.Errorf("before a call the agent is %+v", a)
	}
	alice := &caller{t, h, aliceKey}
	id := alice.text("pinnedagent", "b26", "dig").ID
	if done := alice.wait("pinnedagent", id, "TASK_STATE_COMPLETED"); !strings.Contains(string(done.Status.Message)+string(done.Artifacts), "here") {
		t.Errorf("completed with %s %s", done.Status.Message, done.Artifacts)
	}
	awaitSeen(t, h, "pinnedagent")
	agent.mu.Lock()
	defer agent.mu.Unlock()
	if slices.Contains(agent.seen, http.MethodGet) {
		t.Errorf("the hub has asked the agent %v, although its skills stand in the file", agent.seen)
	}
}

// TestOneShot: a worker that a queue has started performs one task and exits, like KEDA's
// workers.
func TestOneShot(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	h := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf(`
bus: {url: %q}
auth: {api_keys: {%s: {agent_id: alice}}}
agents: [{name: reporter, queue: reporter}]
`, url, aliceKey)})
	alice := &caller{t, h, aliceKey}
	id := alice.text("reporter", "c25", "words").ID
	out, err := h.Parley(within(t), "agent", "run", "--bus", url, "--name", "reporter", "--once", "--exec", "tr a-z A-Z")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if done := alice.wait("reporter", id, "TASK_STATE_COMPLETED"); !strings.Contains(string(done.Artifacts), "WORDS") {
		t.Errorf("completed with %s", done.Artifacts)
	}
}
