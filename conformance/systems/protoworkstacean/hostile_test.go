package protoworkstacean

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley/internal/hubtest"
)

// evil are answers to a message, by the name of the agent that gives them.
var evil = map[string]struct {
	body string
	want string // the reply that the caller reads
}{
	"text":          {`{"jsonrpc":"2.0","result":"done"}`, "run message: must be an object"},
	"list":          {`{"jsonrpc":"2.0","result":[]}`, "run message: must be an object"},
	"no-id":         {`{"jsonrpc":"2.0","result":{"status":{"state":"completed"}}}`, "task.id: is required"},
	"number-id":     {`{"jsonrpc":"2.0","result":{"id":7,"contextId":"c","status":{"state":"completed"}}}`, "task.id: must be a string"},
	"no-state":      {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{}}}`, "task.status.state: is required"},
	"state":         {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":"done"}}}`, "task.status.state: \"done\" is not a state that can be followed"},
	"state-list":    {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":["completed"]}}}`, "task.status.state: must be a state"},
	"context":       {`{"jsonrpc":"2.0","result":{"id":"t","contextId":5,"status":{"state":"completed"}}}`, "task.contextId: must be a string"},
	"artifacts":     {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":{"a":1}}}`, "task.artifacts: must be a list"},
	"part-text":     {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":5}]}]}}`, "task.artifacts[0].parts[0].text: must be a string"},
	"part-kind":     {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"poem","text":"x"}]}]}}`, "task.artifacts[0].parts[0].kind: must be text, file or data"},
	"neither":       {`{"jsonrpc":"2.0"}`, "answered without a result"},
	"error-text":    {`{"jsonrpc":"2.0","error":"no"}`, "answered without a result"},
	"error-code":    {`{"jsonrpc":"2.0","error":{"code":"x","message":7}}`, "answered without a result"},
	"web-page":      {`<html><body>502</body></html>`, "answered with a web page"},
	"cut":           {`{"jsonrpc":"2.0","result":{"id":"t","conte`, "answered with invalid JSON: unexpected end at byte 42"},
	"two":           {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":"completed"}}}{}`, "unexpected data after the value at byte 84"},
	"empty":         {``, "answered with nothing"},
	"message-parts": {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":"completed"},"message":{"parts":"x"}}}`, "task.status.message.parts: must be a list of parts"},
}

// TestHostileAgents: an agent that answers with wrong types, states and orders costs its task, with
// the reason, and nothing else.
func TestHostileAgents(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	quinn := startAgent(t, fake{Raw: func(w http.ResponseWriter, _ *http.Request, call *rpcRequest) bool {
		if call.Method != "message/send" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, evil[call.Params.Message.text()].body)
		return true
	}})
	agents := "agents:\n"
	for name := range evil {
		agents += "  - {name: " + name + ", url: \"" + quinn.URL + "/a2a\"}\n"
	}
	h := startHub(t, settings{Agents: agents})
	for name, tt := range evil {
		t.Run(name, func(t *testing.T) {
			sent.Add(1)
			got := h.chat(map[string]any{"agent": name, "message": name})
			if got.State != "failed" || !strings.Contains(got.Reply, tt.want) {
				t.Errorf("the reply is %+v, want a failure with %q", got, tt.want)
			}
		})
	}
	var list struct{ TotalSize int }
	if err := hubtest.Call(t.Context(), hubtest.Request{URL: h.URL() + "/v1/a2a/tasks"}, &list); err != nil || list.TotalSize != int(sent.Load()) {
		t.Errorf("the hub has %d tasks, %v; want one for each of %d messages", list.TotalSize, err, sent.Load())
	}
}

// TestHostileStreams: a stream with events of another task, or with no events, is broken, and the
// task is asked for, which this agent does not know; an end that comes
// twice, and a status after it, change nothing.
func TestHostileStreams(t *testing.T) {
	t.Parallel()
	status := func(task, state, final string) string {
		return `data: {"jsonrpc":"2.0","result":{"kind":"status-update","taskId":"` + task + `","contextId":"c","status":{"state":"` + state + `"},"final":` + final + "}}\n\n"
	}
	artifact := `data: {"jsonrpc":"2.0","result":{"kind":"artifact-update","taskId":"t1","contextId":"c","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"once"}]}}}` + "\n\n"
	streams := map[string]struct{ body, state, reply string }{
		"other-task":  {status("t1", "working", "false") + status("t2", "completed", "true"), "failed", "has lost the task"},
		"twice":       {artifact + status("t1", "completed", "true") + status("t1", "completed", "true"), "completed", "once"},
		"after-end":   {artifact + status("t1", "completed", "true") + status("t1", "working", "false"), "completed", "once"},
		"wrong-state": {status("t1", "working", "false") + status("t1", "resting", "false"), "failed", "has lost the task"},
		"no-json":     {status("t1", "working", "false") + "data: {\n\n", "failed", "has lost the task"},
	}
	quinn := startAgent(t, fake{Streams: true, Raw: func(w http.ResponseWriter, _ *http.Request, call *rpcRequest) bool {
		if call.Method != "message/stream" {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, streams[call.Params.Message.text()].body)
		return true
	}})
	agents := "agents:\n"
	for name := range streams {
		agents += "  - {name: " + name + ", url: \"" + quinn.URL + "/a2a\", streaming: true}\n"
	}
	h := startHub(t, settings{Agents: agents})
	for name, tt := range streams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := h.chat(map[string]any{"agent": name, "message": name})
			if got.State != tt.state || !strings.Contains(got.Reply, tt.reply) {
				t.Errorf("the reply is %+v, want %s with %q", got, tt.state, tt.reply)
			}
		})
	}
}
