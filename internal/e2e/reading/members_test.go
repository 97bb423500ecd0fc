package reading_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/jsonvalues"
	"github.com/parley-a2a/parley/push"
)

// builtinHub returns a hub with the agent echo.
func builtinHub(t *testing.T) *near {
	t.Helper()
	hub := &parley.Hub{Push: push.Options{Allow: []string{"loopback"}}}
	hub.Limits.DrainTimeout = -1
	for _, a := range builtin.Agents() {
		hub.Handle(a.Card, a.Executor)
	}
	return serve(t, hub)
}

// do makes a request and returns the status and the body of the answer.
func (n *near) do(t *testing.T, method, path, version, body string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, n.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if path == "/mcp" {
		req.Header.Set("Accept", "application/json, text/event-stream")
		if n.session != "" {
			req.Header.Set("Mcp-Session-Id", n.session)
		}
	}
	if version != "" {
		req.Header.Set("A2A-Version", version)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, out
}

const part = `{"text":"hi","metadata":{"k":1},"filename":"f","mediaType":"text/plain"}`

// samples are valid requests of callers.
var samples = map[string]struct{ path, version, body string }{
	"JSON-RPC": {"/a2a/echo", "1.0", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"tenant":"","message":{"messageId":"m","role":"ROLE_USER","contextId":"c",` +
		`"parts":[` + part + `,{"raw":"QUFB"},{"data":{"a":[1]}}],"metadata":{"parley.budget":9,"parley.hops":3},"extensions":["https://x.example"],"referenceTaskIds":["t"]},` +
		`"configuration":{"acceptedOutputModes":["text/plain"],"historyLength":1,"returnImmediately":false},"metadata":{"k":1}}}`},
	"HTTP+JSON": {"/v1/a2a/echo/message:send", "1.0", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + part + `]},"configuration":{"historyLength":1}}`},
	"0.3": {"/a2a/echo", "0.3", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user",` +
		`"parts":[{"kind":"text","text":"hi"},{"kind":"file","file":{"bytes":"QUFB","mimeType":"a/b","name":"n"}},{"kind":"data","data":{"a":1}}]},"configuration":{"blocking":true,"historyLength":1}}}`},
	"list":   {"/a2a/echo", "1.0", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageSize":5,"historyLength":1,"status":"TASK_STATE_COMPLETED","includeArtifacts":true}}`},
	"OpenAI": {"/v1/chat/completions", "", `{"model":"echo","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"max_tokens":5,"n":1,"temperature":1,"user":"u"}`},
	"OpenAI stream": {"/v1/chat/completions", "", `{"model":"echo","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"},{"role":"user","content":"go"}],` +
		`"metadata":{"k":"v"},"stop":["x"]}`},
	"AG-UI": {"/ag-ui/echo", "", `{"threadId":"t","runId":"RUN","messages":[{"id":"1","role":"user","content":"hi"},{"id":"2","role":"assistant","content":"x","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
		`{"id":"3","role":"tool","toolCallId":"c","content":"r"},{"id":"4","role":"user","content":[{"type":"text","text":"go"}]}],"tools":[{"name":"f","description":"d","parameters":{"type":"object"}}],` +
		`"context":[{"description":"d","value":"v"}],"state":{"a":1},"forwardedProps":{"b":2},"resume":[{"interruptId":"i","status":"resolved","payload":{"c":3}}]}`},
	"gateway":  {"/", "", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"user","parts":[{"text":"hi"}],"metadata":{"skill":"echo"}},"configuration":{"blocking":true}}}`},
	"0.3 REST": {"/v1/message:send", "0.3", `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"hi"},{"file":{"fileWithBytes":"QUFB","mimeType":"a/b","name":"n"}},{"data":{"data":{"a":1}}}],"metadata":{"k":1}},"configuration":{"blocking":true,"historyLength":1},"metadata":{"k":1}}`},
	"MCP":      {"/mcp", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat_with_agent","arguments":{"agent":"echo","message":"hi","done":true},"_meta":{"progressToken":"p"}}}`},
	"push":     {"/a2a/echo", "1.0", `{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig","params":{"taskId":"t","url":"http://127.0.0.1:9","token":"x","authentication":{"scheme":"Bearer","credentials":"c"}}}`},
}

// TestEveryValueFromCallers sends every JSON value in the place of every member that callers send, on each
// surface. Each request has an answer or an error in JSON, at once or as the events of a stream, and the next
// caller is served.
func TestEveryValueFromCallers(t *testing.T) {
	t.Parallel()
	n := &near{url: hubtest.Start(t, hubtest.Options{Flags: []string{"--push-allow", "loopback"}}).URL()}
	n.session = n.initialize(t)
	for name, s := range samples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			send := func(body string) (int, []byte) {
				return n.do(t, http.MethodPost, s.path, s.version, strings.ReplaceAll(body, "RUN", string(a2a.NewMessageID())))
			}
			for _, v := range jsonvalues.Variants(t, s.body) {
				status, out := send(v.JSON)
				if status >= 500 && status != http.StatusNotImplemented || !answers(out) && !(name == "MCP" && status == http.StatusBadRequest) { // its library refuses in words
					t.Errorf("%s = %s: status %d, %s", v.Path, v.Value, status, out)
				}
			}
			status, out := send(s.body)
			if name != "push" && (status != http.StatusOK || bytes.Contains(out, []byte(`"error":{`))) {
				t.Errorf("the sample itself: status %d, %s", status, out)
			}
			if status, out = n.do(t, http.MethodPost, "/a2a/echo", "1.0", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`); status != http.StatusOK || bytes.Contains(out, []byte(`"error":{`)) {
				t.Errorf("the list after it: status %d, %s", status, out)
			}
		})
	}
}

// initialize opens a session of MCP and returns its id.
func (n *near) initialize(t *testing.T) string {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: n.url + "/mcp"}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.ID()
}

// answers reports whether a body is JSON, or a stream of events with JSON, without an internal error.
func answers(body []byte) bool {
	events := 0
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: ")); ok {
			if events++; !json.Valid(data) && string(data) != "[DONE]" {
				return false
			}
		}
	}
	return (events > 0 || json.Valid(body)) && !bytes.Contains(body, []byte(`"code":-32603`))
}

// TestEveryValueFromAgents lets an agent answer with every JSON value in the place of every member of
// an artifact. The task ends at once: completed, or failed with a reason that names the member.
// The artifacts beside it arrive.
func TestEveryValueFromAgents(t *testing.T) {
	t.Parallel()
	for _, dialect := range dialects {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			f := (&far{dialect: dialect, way: "stream"}).start(t)
			n := startHub(t, f)
			sample := `{"artifactId":"odd","name":"n","description":"d","parts":[` + part + `,{"data":{"a":[1]}}],"metadata":{"k":1},"extensions":["https://x.example"]}`
			if f.old() {
				sample = `{"artifactId":"odd","name":"n","parts":[{"kind":"text","text":"hi","metadata":{"k":1}},{"kind":"file","file":{"bytes":"QUFB","mimeType":"a/b","name":"n"}},{"kind":"data","data":{"a":1}}],"metadata":{"k":1}}`
			}
			for _, v := range jsonvalues.Variants(t, sample) {
				f.artifacts = []string{`{"artifactId":"before","parts":[{"text":"before"}]}`, v.JSON, `{"artifactId":"after","parts":[{"text":"after"}]}`}
				got := n.send(t)
				parts, says := got.parts(), got.says()
				if !strings.Contains(parts, `"before"`) || !strings.Contains(parts, `"after"`) {
					t.Errorf("%s = %s: %s %q, the neighbours are lost: %s", v.Path, v.Value, got.Status.State, says, parts)
				}
				unread := got.Status.State == "TASK_STATE_FAILED" && strings.Contains(says, "an unreadable answer")
				member := v.Path[strings.LastIndexByte(v.Path, '.')+1:]
				named := strings.Contains(says, strings.TrimRight(member, "[0123456789]")) || strings.Contains(says, "artifact") || strings.Contains(says, "nested too deep")
				if got.Status.State != "TASK_STATE_COMPLETED" && !(unread && named) {
					t.Errorf("%s = %s: %s %q", v.Path, v.Value, got.Status.State, says)
				}
			}
		})
	}
}
