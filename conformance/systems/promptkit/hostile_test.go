package promptkit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/AltairaLabs/PromptKit/runtime/a2a"

	"github.com/parley-a2a/parley/internal/hubtest"
)

// liars are servers that break PromptKit's types. Each row is the result of message/stream,
// of message/send and of tasks/get; the words are part of the reason that the hub gives.
var liars = []struct{ name, result, words string }{
	{"state-unknown", `{"id":"t","contextId":"c","status":{"state":"finished"}}`, `task.status.state: "finished" is not a state`},
	{"state-switch", `{"id":"t","contextId":"c","status":{"state":true}}`, "task.status.state: "},
	{"no-status", `{"id":"t","contextId":"c"}`, "neither a task nor a message nor an event"},
	{"no-id", `{"contextId":"c","status":{"state":"completed"}}`, "task.id: is required"},
	{"id-number", `{"id":7,"contextId":"c","status":{"state":"completed"}}`, "task.id: must be a string"},
	{"parts-object", `{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":{"text":"x"}}]}`, "task.artifacts[0].parts: must be a list of parts"},
	{"text-number", `{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"text":7}]}]}`, "task.artifacts[0].parts[0].text: must be a string"},
	{"artifacts-text", `{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":"x"}`, "task.artifacts: must be a list"},
	{"result-null", `null`, "must be an object"},
	{"empty", `{}`, "neither a task nor a message nor an event"},
}

func liar(t *testing.T, result string) string {
	t.Helper()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_ = json.NewEncoder(w).Encode(a2a.AgentCard{
				Name: "liar", Description: "An agent that breaks its types", Version: "1",
				Skills: []a2a.AgentSkill{{ID: "lie", Name: "Lie"}}, DefaultInputModes: []string{"text/plain"},
			})
			return
		}
		var req a2a.JSONRPCRequest
		if json.NewDecoder(r.Body).Decode(&req) != nil {
			return
		}
		id, _ := json.Marshal(req.ID)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
	}))
	t.Cleanup(ts.Close)
	return ts.URL
}

// A server that breaks its own types fails the task, with a reason, and nothing else.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	var config strings.Builder
	config.WriteString("agents:\n")
	for _, l := range liars {
		fmt.Fprintf(&config, "  - {name: %s, endpoint: {backend: a2a, base_url: %q, options: {return_immediately: false}}}\n", l.name, liar(t, l.result))
	}
	h := hubtest.Start(t, hubtest.Options{Config: config.String()})
	for _, l := range liars {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			task := send(t, of(h, l.name), user(text("x")), a2a.TaskStateFailed)
			if task.Status.Message == nil {
				t.Fatal("the task fails without a reason")
			}
			if reason := said(task.Status.Message.Parts); !strings.Contains(reason, l.words) {
				t.Errorf("the task fails because it %q; want words about %q", reason, l.words)
			}
			if len(task.Artifacts) != 0 {
				t.Errorf("artifacts %+v", task.Artifacts)
			}
		})
	}
}

// Requests that PromptKit's types cannot make are refused with the field that is wrong, and
// leave no task.
func TestHostileCallers(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{})
	message := func(m string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":` + m + `}}`
	}
	for _, tt := range []struct {
		body string
		code int
		data string
	}{
		{message(`{"role":"system","parts":[{"text":"x"}]}`), -32602, "role"},
		{message(`{"role":"user","parts":[]}`), -32602, "parts"},
		{message(`{"role":"user","parts":[{"text":7}]}`), -32602, "text"},
		{message(`{"role":"user","parts":[{"raw":"%%%"}]}`), -32602, "raw"},
		{message(`{"role":"user","parts":[{"text":"x","data":{}}]}`), -32602, "parts"},
		{message(`{"role":"user","parts":[{"text":"x"}],"taskId":"none"}`), -32001, ""},
		{message(`{"role":"user","parts":[{"text":"x"}],"taskId":7}`), -32602, "taskId"},
		{message(`{"role":"user","parts":[{"text":"x"}],"metadata":[]}`), -32602, "metadata"},
		{`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":7}}`, -32602, "id"},
		{`{"jsonrpc":"2.0","id":1,"method":"tasks/list","params":{"contextId":"c","status":"finished"}}`, -32602, "status"},
		{`{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":[]}`, -32602, ""},
	} {
		got := rpc(t, h, tt.body)
		b, _ := json.Marshal(got.Error)
		if got.Error == nil || got.Error.Code != tt.code || !strings.Contains(string(b), tt.data) {
			t.Errorf("%s: %s, want code %d about %q", tt.body, b, tt.code, tt.data)
		}
	}
	if out, err := h.Parley(within(t), "tasks", "list", "--json"); err != nil || strings.Contains(out, `"id"`) {
		t.Errorf("tasks are there: %s, %v", out, err)
	}
}
