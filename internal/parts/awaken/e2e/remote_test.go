package awaken

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/openaitest"
)

// documentSpec is the literal AgentSpec of Awaken's page, except for the address.
const documentSpec = `{ "id": "remote-researcher", "endpoint": { "backend": "a2a", "base_url": "https://remote-agent.example.com/v1/a2a", "auth": { "type": "bearer", "token": "..." }, "target": "researcher", "timeout_ms": 300000, "options": { "poll_interval_ms": 1000 } }}`

// remoteHub starts a hub in front of the strict server: with the document's spec, and with an
// endpoint of parley.yaml for each way to follow a task.
func remoteHub(t *testing.T, far *server, model string) *hubtest.Hub {
	t.Helper()
	dir := t.TempDir()
	specs := filepath.Join(dir, "specs.json")
	list := "[" + strings.Replace(documentSpec, "https://remote-agent.example.com", far.URL, 1) + `,
{"id": "planner", "description": "Plans.", "model_id": "scripted", "system_prompt": "You plan.", "delegates": ["remote-researcher"]},
{"id": "nothing", "system_prompt": "You are nothing."},
{"id": "other", "endpoint": {"backend": "xyz", "base_url": "http://127.0.0.1:1"}}]`
	if err := os.WriteFile(specs, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	endpoint := `{backend: a2a, base_url: "` + far.URL + `/v1/a2a", auth: {type: bearer, token: "..."}, target: researcher`
	return hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf(`
directory: {specs: [%q]}
model_providers: [{name: scripted, base_url: %q}]
agents:
  - {name: streamed, questions: suspend, endpoint: %s}}
  - {name: polled, questions: suspend, endpoint: %s, options: {no_streaming: true, poll_interval_ms: 300}}}
  - {name: waited, questions: suspend, endpoint: %s, options: {no_streaming: true, return_immediately: false}}}
  - {name: hasty, endpoint: %s, timeout_ms: 400}}
  - {name: quick, endpoint: %s, timeout_ms: 4000}}
  - {name: swift, endpoint: %s, timeout_ms: 40000}}
  - {name: unknown, endpoint: {backend: a2a, base_url: "%s/v1/a2a", auth: {type: bearer, token: wrong}, target: researcher}}
`, specs, model, endpoint, endpoint, endpoint, endpoint, endpoint, endpoint, far.URL)})
}

// TestRemote uses the hub as a client of Awaken's server, with each configuration of a remote
// agent.
func TestRemote(t *testing.T) {
	t.Parallel()
	far := newServer(t, "...", "default", "researcher")
	model := openaitest.New(t, openaitest.Config{}, openaitest.Table(
		openaitest.Case{User: "work alone", Reply: openaitest.Turn{Text: "done alone"}},
		openaitest.Case{User: "ask the researcher", Reply: openaitest.Turn{Calls: []openaitest.Call{{Name: "agent_run_remote-researcher", Arguments: `{"prompt":"find it"}`}}}},
		openaitest.Case{Round: 1, Reply: openaitest.Turn{Text: "the researcher has it"}},
	))
	h := remoteHub(t, far, model.URL)
	api := h.URL() + "/v1/a2a/"
	for _, name := range []string{"remote-researcher", "streamed", "polled", "waited"} {
		t.Run(name, func(t *testing.T) {
			got := must[sent](t, do(t, "POST", api+name+"/message:send", message1("find it", "")), 200).Task
			if *got.Status.State != "TASK_STATE_COMPLETED" || len(got.Artifacts) != 1 || textOf(got.Artifacts[0].Parts) != "awaken says: find it" {
				t.Errorf("task = %s, artifacts %+v, want the artifact that follows the last status", *got.Status.State, got.Artifacts)
			}
		})
	}
	for _, name := range []string{"streamed", "polled", "waited"} {
		t.Run("Waiting/"+name, func(t *testing.T) { testWaiting(t, api+name) })
	}
	t.Run("Wire", func(t *testing.T) { testWire(t, far) })
	t.Run("Cancel", func(t *testing.T) { testRemoteCancel(t, far, api) })
	t.Run("Timeout", func(t *testing.T) { testTimeout(t, far, h) })
	t.Run("Auth", func(t *testing.T) { testAuth(t, far, api) })
	t.Run("Delegation", func(t *testing.T) { testDelegation(t, model, api) })
	t.Run("Local", func(t *testing.T) { testLocal(t, h, api) })
	t.Run("Poll", func(t *testing.T) { testPolling(t, far, api) })
}

// testWaiting answers questions and requests for credentials of the remote agent.
func testWaiting(t *testing.T, agent string) {
	for word, want := range map[string]state{"ask": "TASK_STATE_INPUT_REQUIRED", "auth": "TASK_STATE_AUTH_REQUIRED"} {
		asked := must[sent](t, do(t, "POST", agent+"/message:send", message1(word+" which city?", "")), 200).Task
		if *asked.Status.State != want || asked.Status.Message == nil || textOf(asked.Status.Message.Parts) != "which city?" {
			t.Fatalf("%s = %s, want %s with the question", word, *asked.Status.State, want)
		}
		got := must[sent](t, do(t, "POST", agent+"/message:send", message1("Rome", fmt.Sprintf(`"taskId":%q,`, *asked.ID))), 200).Task
		if *got.ID != *asked.ID || *got.Status.State != "TASK_STATE_COMPLETED" || len(got.Artifacts) != 1 || textOf(got.Artifacts[0].Parts) != "awaken says: Rome" {
			t.Errorf("after the answer to %s: %s, artifacts %+v, want the remote agent's answer", word, *got.Status.State, got.Artifacts)
		}
	}
	if got := must[sent](t, do(t, "POST", agent+"/message:send", message1("fail no luck", "")), 200).Task; *got.Status.State != "TASK_STATE_FAILED" {
		t.Errorf("a failed task is %s here", *got.Status.State)
	}
}

// testWire checks the hub's requests: the bearer token and the path of the target in each call,
// and returnImmediately.
func testWire(t *testing.T, far *server) {
	sends := far.seen("message:s")
	if first := sends[0]; !strings.Contains(first.Body, `"returnImmediately":true`) {
		t.Errorf("the document's spec sends %s, want it to ask for the task at once", first.Body)
	}
	for _, c := range sends {
		if c.Path != "/v1/a2a/researcher/message:send" && c.Path != "/v1/a2a/researcher/message:stream" {
			t.Errorf("sent to %s, want the target below the base URL", c.Path)
		}
		if c.Authorization != "Bearer ..." {
			t.Errorf("%s %s with Authorization %q", c.Method, c.Path, c.Authorization)
		}
	}
	for _, c := range far.seen("POST ") {
		if !strings.HasPrefix(c.Path, "/v1/a2a/researcher/") {
			t.Errorf("%s %s: the configured address alone may be called", c.Method, c.Path)
		}
	}
}

func testRemoteCancel(t *testing.T, far *server, api string) {
	held := must[sent](t, do(t, "POST", api+"polled/message:send", waiting(message1("hold still", ""))), 200).Task
	far.polled(t, far.holding(t, "hold still")) // the hub knows the task there
	if a := do(t, "POST", api+"tasks/"+*held.ID+":cancel", ""); a.status != 200 || !bytes.Contains(a.body, []byte("TASK_STATE_CANCELED")) {
		t.Fatalf("cancel = %d %s", a.status, a.body)
	}
	if len(far.seen(":cancel")) == 0 {
		t.Error("the task of the remote agent was not canceled")
	}
}

// testTimeout has agents with a longer and longer timeout: on a busy machine the time may be over before the
// hub knows the task there.
func testTimeout(t *testing.T, far *server, h *hubtest.Hub) {
	before := len(far.seen(":cancel"))
	for _, tt := range []struct {
		agent string
		takes time.Duration
		says  string
	}{{"hasty", 400 * time.Millisecond, "400ms"}, {"quick", 4 * time.Second, "4s"}, {"swift", 40 * time.Second, "40s"}} {
		began := time.Now()
		got := must[sent](t, do(t, "POST", h.URL()+"/v1/a2a/"+tt.agent+"/message:send", message1("hold on", "")), 200).Task
		if *got.Status.State != "TASK_STATE_FAILED" || !strings.Contains(textOf(got.Status.Message.Parts), tt.says) {
			t.Errorf("after %v the task is %s: %+v", tt.takes, *got.Status.State, got.Status.Message)
		}
		if took := time.Since(began); took < tt.takes {
			t.Errorf("it failed after %v", took)
		}
		if len(far.seen(":cancel")) > before {
			return
		}
	}
	t.Error("the remote task goes on")
}

func testAuth(t *testing.T, far *server, api string) {
	got := must[sent](t, do(t, "POST", api+"unknown/message:send", message1("hello", "")), 200).Task
	if *got.Status.State != "TASK_STATE_FAILED" && *got.Status.State != "TASK_STATE_AUTH_REQUIRED" {
		t.Errorf("with a wrong token the task is %s", *got.Status.State)
	}
}

// testDelegation checks that the model gets a regular tool call.
func testDelegation(t *testing.T, model *openaitest.Server, api string) {
	got := must[sent](t, do(t, "POST", api+"planner/message:send", message1("ask the researcher", "")), 200).Task
	if *got.Status.State != "TASK_STATE_COMPLETED" || joined(got) != "the researcher has it" {
		t.Fatalf("planner = %s, %+v", *got.Status.State, got.Artifacts)
	}
	all := model.Requests()
	last := all[len(all)-1]
	if !last.Has("agent_run_remote-researcher") {
		t.Error("the model has no tool agent_run_remote-researcher")
	}
	var result struct{ AgentID, Status, Response string }
	results := last.Results("agent_run_remote-researcher")
	if len(results) != 1 {
		t.Fatalf("results = %q, want one", results)
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(results[0], "agent_id", "agentID")), &result); err != nil {
		t.Fatalf("%v: %s", err, results[0])
	}
	if result.AgentID != "remote-researcher" || result.Status != "completed" || !strings.Contains(results[0], "awaken says: find it") {
		t.Errorf("result = %s", results[0])
	}
}

// joined returns the text of the first artifact, whose chunks are parts.
func joined(t *taskJSON) string {
	text := ""
	for _, p := range t.Artifacts[0].Parts {
		text += p.Text
	}
	return text
}

// testLocal checks that an agent without an endpoint runs locally, and that one that cannot run
// is reported.
func testLocal(t *testing.T, h *hubtest.Hub, api string) {
	got := must[sent](t, do(t, "POST", api+"planner/message:send", message1("work alone", "")), 200).Task
	if joined(got) != "done alone" {
		t.Errorf("planner = %+v", got.Artifacts)
	}
	text := h.Output()
	for _, problem := range []string{"[2].model_id: is missing, and so is endpoint", "[3].endpoint.backend"} {
		if !strings.Contains(text, problem) {
			t.Errorf("%s is not reported:\n%s", problem, text)
		}
	}
}

// TestTarget: the card of the target describes that agent, not the default agent at the same
// address.
func TestTarget(t *testing.T) {
	t.Parallel()
	far := hubtest.Start(t, hubtest.Options{})
	h := hubtest.Start(t, hubtest.Options{Config: `
agents:
  - {name: iv, endpoint: {backend: a2a, base_url: "` + far.URL() + `/v1/a2a", target: interview}}
`})
	if out, err := h.Parley(t.Context(), "agents", "refresh", "iv", "--url", h.URL()); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := must[card](t, do(t, "GET", far.URL()+"/v1/a2a/interview/.well-known/agent-card.json", ""), 200)
	got := must[card](t, do(t, "GET", h.URL()+"/v1/a2a/iv/.well-known/agent-card.json", ""), 200)
	if *got.Description != *want.Description || len(got.Skills) != 1 || *got.Skills[0].ID != *want.Skills[0].ID {
		t.Errorf("card = %q, skills %+v, want those of the target: %q, %+v", *got.Description, got.Skills, *want.Description, want.Skills)
	}
	asked := must[sent](t, do(t, "POST", h.URL()+"/v1/a2a/iv/message:send", message1("ask 1", "")), 200).Task
	if *asked.Status.State != "TASK_STATE_INPUT_REQUIRED" {
		t.Errorf("the target answers %s", *asked.Status.State)
	}
}

// TestBackends: endpoints have the backend a2a, and no other.
func TestBackends(t *testing.T) {
	t.Parallel()
	h := hubtest.New(t, hubtest.Options{Config: "agents: [{name: a, endpoint: {backend: xyz, base_url: 'http://127.0.0.1:1'}}]\n"})
	if err := h.Start(); err == nil || !strings.Contains(err.Error(), "agents[0].endpoint.backend") {
		t.Errorf("a hub with the backend xyz: %v, want a problem with its key", err)
	}
}

// TestHostileServer: an answer that no server of Awaken sends fails the task with a reason, and
// has no other effect.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	const task = `"id":"t","contextId":"c"`
	answers := map[string]string{
		"unknown-state": `{"task":{` + task + `,"status":{"state":"TASK_STATE_DREAMING"}}}`,
		"bool-state":    `{"task":{` + task + `,"status":{"state":true}}}`,
		"no-status":     `{"task":{` + task + `}}`,
		"no-task":       `{}`,
		"page":          `<html>`,
		"half":          `{"task":{"id"`,
		"two-ids":       `{"task":{` + task + `,"id":"u","status":{"state":"TASK_STATE_COMPLETED"}}}`,
		"two-answers":   `{"task":{` + task + `,"status":{"state":"TASK_STATE_COMPLETED"}}}{}`,
		"bad-parts":     `{"task":{` + task + `,"status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":7}]}]}}`,
	}
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/a2a/"), "/")
		body, ok := answers[name]
		if r.Method != "POST" || !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(far.Close)
	config := "agents:\n"
	for name := range answers {
		config += fmt.Sprintf("  - {name: %s, endpoint: {backend: a2a, base_url: %q, target: %s, timeout_ms: 4000}}\n", name, far.URL+"/v1/a2a", name)
	}
	h := hubtest.Start(t, hubtest.Options{Config: config})
	for name := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := must[sent](t, do(t, "POST", h.URL()+"/v1/a2a/"+name+"/message:send", message1("hi", "")), 200).Task
			if *got.Status.State != "TASK_STATE_FAILED" || got.Status.Message == nil || len(got.Artifacts) != 0 {
				t.Errorf("task = %s, %+v, want it failed with a reason", *got.Status.State, got.Artifacts)
			}
		})
	}
}

// testPolling checks that poll_interval_ms is the time between two polls.
func testPolling(t *testing.T, far *server, api string) {
	held := must[sent](t, do(t, "POST", api+"polled/message:send", waiting(message1("hold the line", ""))), 200).Task
	id := far.holding(t, "hold the line")
	gaps := func() (all []time.Duration) {
		looks := far.seen("GET /v1/a2a/researcher/tasks/" + id)
		for i := 1; i < len(looks); i++ {
			all = append(all, looks[i].at.Sub(looks[i-1].at))
		}
		return all
	}
	// A busy machine may delay some polls, but not all of them.
	for late := time.Now().Add(time.Minute); len(gaps()) < 2 || slices.Min(gaps()) > 1500*time.Millisecond && time.Now().Before(late); {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
			return
		}
	}
	if all := gaps(); slices.Min(all) < 280*time.Millisecond || slices.Min(all) > 1500*time.Millisecond {
		t.Errorf("%v between two looks, want about 300 ms", all)
	}
	do(t, "POST", api+"tasks/"+*held.ID+":cancel", "")
}

// TestBareMessage: an agent that answers with a bare message and no task gives Awaken's client
// a task, with the answer as its artifact.
func TestBareMessage(t *testing.T) {
	t.Parallel()
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			fmt.Fprintf(w, `{"name":"hello","description":"Greets.","version":"1","capabilities":{},"skills":[],"defaultInputModes":["text/plain"],`+
				`"defaultOutputModes":["text/plain"],"supportedInterfaces":[{"url":"http://%s/","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`, r.Host)
			return
		}
		fmt.Fprint(w, `{"message":{"messageId":"r1","role":"ROLE_AGENT","parts":[{"text":"Hello!"}]}}`)
	}))
	t.Cleanup(far.Close)
	h := hubtest.Start(t, hubtest.Options{Config: "profile: awaken\nagents:\n  - {name: hello, url: '" + far.URL + "'}\n"})
	got := must[sent](t, do(t, "POST", h.URL()+"/v1/a2a/hello/message:send", message1("Bob", "")), 200)
	if got.Task == nil || *got.Task.Status.State != "TASK_STATE_COMPLETED" || len(got.Task.Artifacts) != 1 {
		t.Errorf("the answer is %+v, want a task with an artifact", got)
	}
}
