package promptkit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/AltairaLabs/PromptKit/runtime/a2a"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// liars are servers that violate PromptKit's types, or the rules of JSON-RPC. Each row is the
// answer to message/stream, message/send and tasks/get: ID is the id of the request, and a bare
// result is put into a correct envelope. The words are part of the reason that the hub reports,
// or of the artifacts' text if the state is set.
var liars = []struct {
	name, body, words string
	state             a2a.TaskState // empty means failed
}{
	{"state-unknown", `{"id":"t","contextId":"c","status":{"state":"finished"}}`, `task.status.state: "finished" is not a state`, ""},
	{"state-switch", `{"id":"t","contextId":"c","status":{"state":true}}`, "task.status.state: ", ""},
	{"no-status", `{"id":"t","contextId":"c"}`, "is not a task, a message or an event", ""},
	{"no-id", `{"contextId":"c","status":{"state":"completed"}}`, "task.id: is required", ""},
	{"id-number", `{"id":7,"contextId":"c","status":{"state":"completed"}}`, "task.id: must be a string", ""},
	{"parts-object", `{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":{"text":"x"}}]}`, "get task t: artifacts[0].parts: must be a list of parts", ""},
	{"text-number", `{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"text":7}]}]}`, "get task t: artifacts[0].parts[0].text: must be a string", ""},
	{"artifacts-text", `{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":"x"}`, "get task t: artifacts: must be a list", ""},
	{"result-null", `null`, "must be an object", ""},
	{"empty", `{}`, "is not a task, a message or an event", ""},
	// An HTTP response belongs to one request, so the hub ignores the id in it.
	{"rpc-id-other", `{"jsonrpc":"2.0","id":"of-another-request","result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"text":"once"}]}]}}`, "once", a2a.TaskStateCompleted},
	{"rpc-id-none", `{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"text":"once"}]}]}}`, "once", a2a.TaskStateCompleted},
	{"rpc-id-twice", `{"jsonrpc":"2.0","id":ID,"id":"2","result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"text":"once"}]}]}}`, "once", a2a.TaskStateCompleted},
	{"result-twice", `{"jsonrpc":"2.0","id":ID,"result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"text":"once"}]}]},"result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"text":"again"}]}]}}`, "once", a2a.TaskStateCompleted},
	{"result-and-error", `{"jsonrpc":"2.0","id":ID,"result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"text":"once"}]}]},"error":{"code":-32603,"message":"broken inside"}}`, "broken inside", ""},
	{"answer-twice", `{"jsonrpc":"2.0","id":ID,"result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"text":"once"}]}]}}{"jsonrpc":"2.0","id":ID,"result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"text":"once"}]}]}}`, "unexpected data after the value", ""},
	{"task-id-twice", `{"id":"t","id":"u","contextId":"c","status":{"state":"completed"}}`, "twice", ""},
	{"stream-ids-other", "data: " + `{"jsonrpc":"2.0","id":"8","result":{"taskId":"t","contextId":"c","status":{"state":"working"}}}` + "\n\ndata: " + `{"jsonrpc":"2.0","id":"9","result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"text":"once"}]}]}}` + "\n\n", "once", a2a.TaskStateCompleted},
	{"stream-task-other", "data: " + `{"jsonrpc":"2.0","id":ID,"result":{"taskId":"t","contextId":"c","status":{"state":"working"}}}` + "\n\ndata: " + `{"jsonrpc":"2.0","id":ID,"result":{"taskId":"u","contextId":"c","status":{"state":"completed"}}}` + "\n\n", "task", ""},
	{"stream-end-twice", "data: " + `{"jsonrpc":"2.0","id":ID,"result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"text":"once"}]}]}}` + "\n\ndata: " + `{"jsonrpc":"2.0","id":ID,"result":{"id":"t","contextId":"c","status":{"state":"failed"},"artifacts":[{"artifactId":"a","parts":[{"text":"once"}]}]}}` + "\n\n", "once", a2a.TaskStateCompleted},
}

func liar(t *testing.T, body string) string {
	t.Helper()
	streams := strings.HasPrefix(body, "data: ")
	if !streams && !strings.HasPrefix(body, `{"jsonrpc"`) {
		body = `{"jsonrpc":"2.0","id":ID,"result":` + body + `}`
	}
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_ = json.NewEncoder(w).Encode(a2a.AgentCard{
				Name: "liar", Description: "An agent that breaks its types", Version: "1",
				Capabilities: a2a.AgentCapabilities{Streaming: streams},
				Skills:       []a2a.AgentSkill{{ID: "lie", Name: "Lie"}}, DefaultInputModes: []string{"text/plain"},
			})
			return
		}
		var req a2a.JSONRPCRequest
		if json.NewDecoder(r.Body).Decode(&req) != nil {
			return
		}
		id, _ := json.Marshal(req.ID)
		if streams && req.Method != a2a.MethodSendStreamingMessage {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"Task not found"}}`, id)
			return
		}
		if streams {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = w.Write([]byte(strings.ReplaceAll(body, "ID", string(id))))
	}))
	t.Cleanup(ts.Close)
	return ts.URL
}

// A server that violates its own types fails the task with a reason, and has no other effect.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	var config strings.Builder
	config.WriteString("agents:\n")
	for _, l := range liars {
		fmt.Fprintf(&config, "  - {name: %s, endpoint: {backend: a2a, base_url: %q, options: {return_immediately: false}}}\n", l.name, liar(t, l.body))
	}
	h := hubtest.Start(t, hubtest.Options{Config: config.String()})
	t.Run("lies", func(t *testing.T) {
		for _, l := range liars {
			t.Run(l.name, func(t *testing.T) {
				t.Parallel()
				if l.state != "" {
					if task := send(t, of(h, l.name), user(text("x")), l.state); answer(task) != l.words {
						t.Errorf("artifacts %+v, want %q", task.Artifacts, l.words)
					}
					return
				}
				task := send(t, of(h, l.name), user(text("x")), a2a.TaskStateFailed)
				if task.Status.Message == nil {
					t.Fatal("the task fails without a reason")
				}
				if reason := textOf(task.Status.Message.Parts); !strings.Contains(reason, l.words) {
					t.Errorf("the task fails because it %q; want words about %q", reason, l.words)
				}
				if len(task.Artifacts) != 0 {
					t.Errorf("artifacts %+v", task.Artifacts)
				}
			})
		}
	})
	send(t, of(h, "echo"), user(text("hi")), a2a.TaskStateCompleted)
	stores(t, h, len(liars)+1)
}

// stores checks the number of tasks in the hub.
func stores(t *testing.T, h *hubtest.Hub, want int) {
	t.Helper()
	var list struct{ TotalSize int }
	if err := hubtest.Call(within(t), hubtest.Request{URL: h.URL() + "/v1/a2a/tasks"}, &list); err != nil || list.TotalSize != want {
		t.Errorf("the hub has %d tasks, %v; want %d", list.TotalSize, err, want)
	}
}

// A card that has changed at the second call takes effect only within limits: the agent is
// called at the configured host, and the first card stays valid if the next one cannot be read.
func TestChangingCards(t *testing.T) {
	t.Parallel()
	echo := func(text string) work { return work{chunks: []string{text}, state: a2a.TaskStateCompleted} }
	far, elsewhere := serve(t, "Elsewhere", echo)
	const head = `{"name":"Moving","description":"d","version":"2","capabilities":{"streaming":true},`
	at := func(url, binding string) string {
		return head + `"skills":[{"id":"answer","name":"Answer"}],"supportedInterfaces":[{"url":"` + url + `","protocolBinding":"` + binding + `","protocolVersion":"1.0"}]}`
	}
	answer1, none := []string{"answer"}, []string(nil)
	for name, tt := range map[string]struct {
		card   string
		skills []string
		error  string // the error in reading the card
		fails  string // the error of a call
	}{
		"skills vanish":   {head + `"skills":[]}`, none, "", ""},
		"skills are 7":    {head + `"skills":7}`, none, "", ""},
		"URL moves":       {at(elsewhere+"/a2a", "JSONRPC"), answer1, "", ""},
		"binding is gRPC": {at("127.0.0.1:1", "GRPC"), answer1, "", "is not reachable"},
		"name is 7":       {`{"name":7}`, answer1, "name: must be a string", ""},
		"no name":         {`{}`, answer1, "it has no name", ""},
		"no JSON":         {head, answer1, "invalid JSON", ""},
		"web page":        {`<html>`, answer1, "it is a web page", ""},
		"list":            {`[]`, answer1, "must be an object", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peer, url := serve(t, "Moving", echo)
			h := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf("agents: [{name: moving, url: %q}]\n", url)})
			look := func(card *string, reason string, skills []string) {
				t.Helper()
				peer.shows(card)
				var known struct {
					Agent struct {
						Skills []struct{ ID string }
						Remote struct{ Health struct{ Error string } }
					}
				}
				if err := hubtest.Call(within(t), hubtest.Request{URL: h.URL() + "/api/v1/agents/moving/refresh", Body: "{}"}, &known); err != nil {
					t.Fatal(err)
				}
				if got := known.Agent.Remote.Health.Error; !strings.Contains(got, reason) || (got == "") != (reason == "") {
					t.Errorf("the hub knows the error %q of the card, want %q", got, reason)
				}
				if got := known.Agent.Skills; len(got) != len(skills) || len(got) > 0 && got[0].ID != skills[0] {
					t.Errorf("skills %v, want %v", got, skills)
				}
			}
			call := func(fails string) {
				t.Helper()
				if fails == "" {
					if task := send(t, of(h, "moving"), user(text("hi")), a2a.TaskStateCompleted); answer(task) != "hi" {
						t.Errorf("artifacts %+v", task.Artifacts)
					}
					return
				}
				task := send(t, of(h, "moving"), user(text("hi")), a2a.TaskStateFailed)
				if task.Status.Message == nil || !strings.Contains(textOf(task.Status.Message.Parts), fails) {
					t.Errorf("the task is %+v, want it to fail with %q", task, fails)
				}
			}
			look(nil, "", answer1)
			call("")
			look(&tt.card, tt.error, tt.skills)
			call(tt.fails)
			look(nil, "", answer1)
			call("")
			stores(t, h, 3)
		})
	}
	t.Cleanup(func() {
		far.mu.Lock()
		defer far.mu.Unlock()
		if len(far.called) > 0 {
			t.Errorf("the other host was called: %v", far.called)
		}
	})
}

// Two requests with the same id on one connection are two requests, each with an answer of its
// own. A request with two ids is refused, and nothing of it is stored.
func TestSameIDs(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{})
	var all []hubtest.Request
	for _, ids := range []string{`"id":"same"`, `"id":"same"`, `"id":"same","id":"other"`, `"id":"same"`} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0",%s,"method":"message/send","params":{"message":{"role":"user","parts":[{"text":"number %d"}]},"configuration":{"blocking":true}}}`, ids, len(all))
		all = append(all, hubtest.Request{URL: h.URL() + "/a2a", Body: body})
	}
	bodies, err := hubtest.Pipelined(within(t), all...)
	if err != nil {
		t.Fatal(err)
	}
	for i, body := range bodies {
		var got a2a.JSONRPCResponse
		strict(t, []byte(body), &got)
		if i == 2 {
			if got.Error == nil || got.Error.Code != -32600 || !strings.Contains(got.Error.Message, "id: appears twice") || got.ID != nil {
				t.Errorf("a request with two ids is answered with %s", body)
			}
			continue
		}
		var task a2a.Task
		if got.ID != "same" || got.Error != nil || json.Unmarshal(got.Result, &task) != nil || !strings.Contains(answer(&task), fmt.Sprint("number ", i)) {
			t.Errorf("request %d is answered with %s", i, body)
		}
	}
	stores(t, h, 3)
}

// Requests that PromptKit's types cannot represent are refused with the invalid field, and
// create no task.
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
