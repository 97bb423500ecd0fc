package reading_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/push"
)

// far is an agent at another address. It writes its answers itself, in one dialect of A2A.
type far struct {
	// dialect is "1.0 JSON-RPC", "1.0 HTTP+JSON" or "0.3 JSON-RPC".
	dialect string
	// way is how it answers a message: "stream", "blocking", "poll" for a task in progress that is
	// read until it has ended, or "streamless" for an agent that does not have the streams of its card.
	way string
	// artifacts are the artifacts of its task: the JSON of a list. An event of a stream has one.
	artifacts []string
	// boom, if not empty, is the error of its answer, after a task in progress. The task has failed
	// then.
	boom string

	url string
	mu  sync.Mutex // guards the fields below
	// reads counts how often the task was read, sends how often a message was sent.
	reads, sends int
}

var dialects = []string{"1.0 JSON-RPC", "1.0 HTTP+JSON", "0.3 JSON-RPC"}

func (f *far) old() bool { return f.dialect == "0.3 JSON-RPC" }

func (f *far) rest() bool { return f.dialect == "1.0 HTTP+JSON" }

func (f *far) start(t *testing.T) *far {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	f.url = s.URL
	return f
}

// state returns a state in the spelling of the dialect.
func (f *far) state(s string) string {
	if f.old() {
		return s
	}
	return "TASK_STATE_" + strings.ToUpper(s)
}

const ids = `"contextId":"c"`

func (f *far) task(state string) string {
	kind, artifacts := "", ""
	if f.old() {
		kind = `"kind":"task",`
	}
	if state == "completed" {
		artifacts = `,"artifacts":[` + strings.Join(f.artifacts, ",") + `]`
	}
	return fmt.Sprintf(`{%s"id":"t",%s,"status":{"state":%q}%s}`, kind, ids, f.state(state), artifacts)
}

// event returns an event of a stream with a status or an artifact.
func (f *far) event(member, value string) string {
	body := fmt.Sprintf(`"taskId":"t",%s,%q:%s`, ids, member, value)
	if f.old() {
		return fmt.Sprintf(`{"kind":"%s-update",%s,"final":%v}`, member, body, member == "status")
	}
	return fmt.Sprintf(`{"%sUpdate":{%s}}`, member, body)
}

// wrapped returns an answer to a request with an id.
func (f *far) wrapped(id json.RawMessage, member, value string) string {
	if f.rest() && member == "result" {
		return value
	}
	if f.rest() {
		return fmt.Sprintf(`{"error":{"code":500,"status":"INTERNAL","message":%q}}`, f.boom)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%q:%s}`, id, member, value)
}

func (f *far) card() string {
	streaming := f.way == "stream" || f.way == "streamless"
	where := fmt.Sprintf(`"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]`, f.url)
	switch {
	case f.old():
		where = fmt.Sprintf(`"protocolVersion":"0.3.0","url":%q,"preferredTransport":"JSONRPC"`, f.url)
	case f.rest():
		where = strings.Replace(where, "JSONRPC", "HTTP+JSON", 1)
	}
	return fmt.Sprintf(`{"name":"far","description":"d","version":"1","capabilities":{"streaming":%v},"defaultInputModes":["text/plain"],`+
		`"defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"s","description":"d","tags":["t"]}],%s}`, streaming, where)
}

func (f *far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var call struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &call)
	sends := bytes.Contains(body, []byte(`"messageId"`))
	streams := sends && f.way == "stream" && (bytes.Contains(body, []byte("Stream")) || bytes.Contains(body, []byte("message/stream")) || strings.HasSuffix(r.URL.Path, ":stream"))
	if sends {
		f.mu.Lock()
		f.sends++
		f.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/agent-card.json"):
		_, _ = io.WriteString(w, f.card())
	case streams:
		f.stream(w, call.ID)
	case sends && f.way == "streamless" && strings.Contains(path+call.Method, "tream"):
		f.unknown(w, call.ID)
	case sends && f.boom != "" && f.way == "blocking":
		f.fail(w, call.ID)
	case sends && f.way == "poll":
		out := f.task("working")
		if !f.old() {
			out = `{"task":` + out + `}`
		}
		_, _ = io.WriteString(w, f.wrapped(call.ID, "result", out))
	case sends:
		out := f.task("completed")
		if !f.old() {
			out = `{"task":` + out + `}`
		}
		_, _ = io.WriteString(w, f.wrapped(call.ID, "result", out))
	case call.Method == "GetTask", call.Method == "tasks/get", r.Method == http.MethodGet && strings.HasSuffix(path, "/tasks/t"):
		f.mu.Lock()
		f.reads++
		f.mu.Unlock()
		state := "completed"
		if f.boom != "" {
			state = "failed"
		}
		_, _ = io.WriteString(w, f.wrapped(call.ID, "result", f.task(state)))
	default:
		f.unknown(w, call.ID)
	}
}

// unknown refuses a method that the agent does not have.
func (f *far) unknown(w http.ResponseWriter, id json.RawMessage) {
	if f.rest() {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"code":404,"status":"UNIMPLEMENTED","message":"no such method"}}`)
		return
	}
	_, _ = io.WriteString(w, f.wrapped(id, "error", `{"code":-32601,"message":"no such method"}`))
}

func (f *far) fail(w http.ResponseWriter, id json.RawMessage) {
	if f.rest() {
		w.WriteHeader(http.StatusInternalServerError)
	}
	_, _ = io.WriteString(w, f.wrapped(id, "error", fmt.Sprintf(`{"code":-32603,"message":%q}`, f.boom)))
}

func (f *far) stream(w http.ResponseWriter, id json.RawMessage) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(member, value string) {
		fmt.Fprintf(w, "data: %s\n\n", f.wrapped(id, member, value))
		w.(http.Flusher).Flush()
	}
	first := f.task("working")
	if !f.old() {
		first = `{"task":` + first + `}`
	}
	send("result", first)
	if f.boom != "" {
		send("error", fmt.Sprintf(`{"code":-32603,"message":%q}`, f.boom))
		return
	}
	for _, a := range f.artifacts {
		send("result", f.event("artifact", a))
	}
	send("result", f.event("status", fmt.Sprintf(`{"state":%q}`, f.state("completed"))))
}

// near is a hub that calls far.
type near struct {
	url string
	// session is the id of a session of MCP, if there is one.
	session string
}

// startHub returns a hub with far as its agent. Its tasks take long until they fail for their time.
func startHub(t *testing.T, f *far) *near {
	t.Helper()
	hub := &parley.Hub{Push: push.Options{Off: true}}
	hub.Limits.DrainTimeout = -1
	hub.Handle(&a2a.AgentCard{Name: "far"}, &remote.Agent{
		URL: f.url, Poll: time.Millisecond, Timeout: time.Hour, ReturnImmediately: f.way == "poll",
	})
	return serve(t, hub)
}

// serve runs a hub until the test ends.
func serve(t *testing.T, hub *parley.Hub) *near {
	t.Helper()
	url, _ := hubtest.Run(t, hub)
	return &near{url: url}
}

// send sends a message and returns the task of the answer.
func (n *near) send(t *testing.T) *result {
	t.Helper()
	body := n.call(t, `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}`)
	var out struct{ Result struct{ Task result } }
	if err := json.Unmarshal(body, &out); err != nil || out.Result.Task.Status.State == "" {
		t.Fatalf("the answer is %s", body)
	}
	return &out.Result.Task
}

func (n *near) call(t *testing.T, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.url+"/a2a/far", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

type result struct {
	ID     string
	Status struct {
		State   string
		Message struct{ Parts []struct{ Text string } }
	}
	Artifacts []struct {
		ArtifactID string
		Parts      []json.RawMessage
	}
}

// says returns the text of the task's message.
func (r *result) says() string {
	var b strings.Builder
	for _, p := range r.Status.Message.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// parts returns the parts of the task's artifacts as JSON.
func (r *result) parts() string {
	all := []json.RawMessage{}
	for _, a := range r.Artifacts {
		all = append(all, a.Parts...)
	}
	b, _ := json.Marshal(all)
	return string(b)
}
