package httpfront_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// keyedHub is a hub with idempotency keys enabled.
func keyedHub(t *testing.T) *hub {
	t.Helper()
	cfg := engine.Config{Idempotency: engine.Idempotency{Header: true}}
	return startHub(t, httpfront.Config{Engine: startEngineWith(t, cfg, everyone()...)})
}

// keyedCalls are the ways to send the text "hello"; all are the same request.
func keyedCalls(h *hub) map[string]func(text string, headers ...string) *answer {
	calls := map[string]func(text string, headers ...string) *answer{}
	for name, path := range map[string]string{"rest send": "send", "rest stream": "stream"} {
		calls[name] = func(text string, headers ...string) *answer {
			return h.do("POST", "/v1/a2a/echo/message:"+path, message(text), headers...)
		}
	}
	for name, method := range map[string]string{"rpc send": "SendMessage", "rpc stream": "SendStreamingMessage"} {
		calls[name] = func(text string, headers ...string) *answer {
			return h.do("POST", "/a2a/echo", rpc(method, message(text)), append(headers, v1)...)
		}
	}
	return calls
}

// taskID returns the id of the first task in an answer.
func taskID(t *testing.T, a *answer) string {
	t.Helper()
	return between(t, a.body, `"task":{"id":"`, `"`)
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	h := keyedHub(t)
	ids := map[string]bool{}
	var plain []string
	for name, call := range keyedCalls(h) {
		for range 2 {
			a := call("hello", "Idempotency-Key: k-1")
			if a.code != http.StatusOK || !strings.Contains(a.body, "TASK_STATE_COMPLETED") {
				t.Errorf("%s = %d %s, want the completed task", name, a.code, a.body)
			}
			ids[taskID(t, a)] = true
		}
		plain = append(plain, taskID(t, call("hello")))
	}
	if len(ids) != 1 {
		t.Errorf("one key made %d tasks: %v", len(ids), ids)
	}
	for i, id := range plain {
		if ids[id] {
			t.Errorf("call %d without a key got the task of the key", i)
		}
	}
}

// TestIdempotencyKeyReused checks that another request under the key is a conflict.
func TestIdempotencyKeyReused(t *testing.T) {
	t.Parallel()
	h := keyedHub(t)
	calls := keyedCalls(h)
	calls["rest send"]("hello", "Idempotency-Key: k")
	for name, call := range calls {
		a := call("bye", "Idempotency-Key: k")
		code, want := http.StatusOK, `"code":-32602`
		if strings.HasPrefix(name, "rest") {
			code, want = http.StatusConflict, `"status":"ALREADY_EXISTS"`
		}
		if a.code != code || !strings.Contains(a.body, want) || !strings.Contains(a.body, "IDEMPOTENCY_KEY_REUSED") {
			t.Errorf("%s = %d %s, want %d with %s", name, a.code, a.body, code, want)
		}
	}
}

// TestBadIdempotencyKeys checks that invalid keys are refused.
func TestBadIdempotencyKeys(t *testing.T) {
	t.Parallel()
	h := keyedHub(t)
	for name, values := range map[string][]string{"empty": {""}, "two": {"a", "b"}, "long": {strings.Repeat("k", 257)}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/v1/a2a/message:send", strings.NewReader(message("hello")))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header["Idempotency-Key"] = values
		resp, err := h.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: status %d, want 400", name, resp.StatusCode)
		}
	}
}

// TestIdempotencyKeyAcrossDialects checks that the same message in v0.3 is the same request
// under a key.
func TestIdempotencyKeyAcrossDialects(t *testing.T) {
	t.Parallel()
	h := keyedHub(t)
	const key = "Idempotency-Key: k"
	first := taskID(t, keyedCalls(h)["rest send"]("hello", key))
	old := rpc("message/send", `{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"hello"}]}}`)
	if a := h.do("POST", "/a2a/echo", old, key); between(t, a.body, `"result":{"`, `}`) == "" || !strings.Contains(a.body, first) {
		t.Errorf("v0.3 = %d %s, want the task %s", a.code, a.body, first)
	}
	if a := h.do("POST", "/a2a/echo", strings.Replace(old, "hello", "bye", 1), key); !strings.Contains(a.body, `"code":-32602`) {
		t.Errorf("v0.3 with another text = %d %s, want -32602", a.code, a.body)
	}
}
