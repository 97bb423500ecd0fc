package protoworkstacean

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// literal is the document's literal request, with the ids of the task that it continues.
func literal(text, ids string) string {
	return `{"jsonrpc":"2.0","method":"message/send","params":{"message":{"role":"user","parts":[{"kind":"text","text":"` + text + `"}]` + ids + `},` +
		`"contextId":"thread-9","metadata":{"skillHint":"echo","correlationId":"trace-9","parentId":"span-9"}}}`
}

// answer is the document's response, as decoded by its caller.
type answer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *struct {
		Code    int
		Message string
	}
	Result *struct {
		ID, ContextID string
		Status        struct{ State string }
		Artifacts     []struct {
			ArtifactID string
			Parts      []struct{ Kind, Text string }
		}
	}
}

// post sends a body to the hub's JSON-RPC, and returns the answer with its correlation id.
func (h *hub) post(body string) (answer, string) {
	h.t.Helper()
	resp, err := hubtest.Do(h.t.Context(), hubtest.Request{URL: h.URL() + "/a2a", Body: body, Header: []string{"X-Correlation-Id", "trace-9", "X-Parent-Id", "span-9"}})
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	var a answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || resp.StatusCode != http.StatusOK {
		h.t.Fatalf("%s is answered with %d, %v", body, resp.StatusCode, err)
	}
	return a, resp.Header.Get("X-Correlation-Id")
}

// TestCaller: a caller with the document's literal request, which has no JSON-RPC id, gets the
// document's response.
func TestCaller(t *testing.T) {
	t.Parallel()
	h := startHub(t, settings{Config: "agents:\n  - {name: waiter, command: [sh, -c, 'cat']}\n"})
	t.Run("literal request", func(t *testing.T) {
		a, trace := h.post(literal("hello", ""))
		if a.Error != nil || a.Result == nil || string(a.ID) != "null" {
			t.Fatalf("the answer is %+v", a)
		}
		r := a.Result
		if r.ID == "" || r.ContextID != "thread-9" || r.Status.State != "completed" || len(r.Artifacts) != 1 ||
			r.Artifacts[0].ArtifactID == "" || len(r.Artifacts[0].Parts) != 1 || r.Artifacts[0].Parts[0].Kind != "text" || r.Artifacts[0].Parts[0].Text != "hello" {
			t.Errorf("the task is %+v", r)
		}
		if trace != "trace-9" {
			t.Errorf("X-Correlation-Id of the answer is %q", trace)
		}
		ended, _ := h.post(literal("more", `,"taskId":"`+r.ID+`"`))
		if ended.Error == nil || ended.Error.Code != -32004 || string(ended.ID) != "null" {
			t.Errorf("a message to the ended task is answered with %+v", ended)
		}
	})
	for name, tt := range map[string]struct {
		body string
		code int
	}{
		"unknown method": {`{"jsonrpc":"2.0","method":"tasks/nothing","params":{}}`, -32601},
		"bad params":     {`{"jsonrpc":"2.0","method":"message/send","params":{"message":{"role":"user","parts":"x"}}}`, -32602},
		"no method":      {`{"jsonrpc":"2.0","params":{}}`, -32600},
		"unknown task":   {literal("x", `,"taskId":"no-such-task"`), -32001},
		"wrong id":       {`{"jsonrpc":"2.0","id":{},"method":"message/send","params":{}}`, -32600},
		"wrong type":     {`{"jsonrpc":"2.0","method":"message/send","params":{"message":{"role":"user","parts":[{"kind":"text","text":5}]}}}`, -32602},
		"wrong context":  {`{"jsonrpc":"2.0","method":"message/send","params":{"message":{"role":"user","parts":[{"kind":"text","text":"x"}]},"contextId":7}}`, -32602},
		"no JSON":        {`{"jsonrpc":"2.0",`, -32700},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := h.post(tt.body)
			if a.Error == nil || a.Error.Code != tt.code || string(a.ID) != "null" {
				t.Errorf("%s is answered with %+v, want %d", tt.body, a, tt.code)
			}
		})
	}
	t.Run("nothing stored", func(t *testing.T) {
		list := h.call("/a2a", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`, "A2A-Version", "1.0")
		if n := member(list, "result", "totalSize"); n != 1.0 {
			t.Errorf("the hub has %v tasks, want the one of the literal request", n)
		}
	})
}
