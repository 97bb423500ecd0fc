package httpfront_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/limits"
)

// limited is a front with limits for callers. Tests call it without a network, so that they run
// in a bubble.
func limited(t *testing.T, cfg engine.Config) *httpfront.Front {
	t.Helper()
	return httpfront.New(httpfront.Config{
		Engine: startEngineWith(t, cfg, everyone()...), Auth: byKey(),
		API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				t.Errorf("read body: %v", err)
			}
			w.WriteHeader(http.StatusOK)
		}),
	})
}

// call sends a request on behalf of who.
func call(f http.Handler, who, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+who)
	r.Header.Set("A2A-Version", "1.0")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}

// everyCall is a request for each operation of each binding over HTTP.
func everyCall() [][3]string {
	calls := [][3]string{
		{"GET", "/api/v1/status", ""},
		{"POST", "/api/v1/keys", "{}"},
		{"POST", "/v1/a2a/message:send", message("hi")},
		{"POST", "/v1/a2a/message:stream", message("hi")},
		{"GET", "/v1/a2a/tasks", ""},
		{"GET", "/v1/a2a/tasks/t", ""},
		{"POST", "/v1/a2a/tasks/t:cancel", ""},
		{"GET", "/v1/a2a/tasks/t:subscribe", ""},
		{"POST", "/v1/a2a/tasks/t/pushNotificationConfigs", "{}"},
		{"GET", "/v1/a2a/tasks/t/pushNotificationConfigs", ""},
		{"GET", "/v1/a2a/tasks/t/pushNotificationConfigs/c", ""},
		{"DELETE", "/v1/a2a/tasks/t/pushNotificationConfigs/c", ""},
		{"GET", "/v1/a2a/extendedAgentCard", ""},
		{"GET", "/v1/a2a/echo/tasks", ""},
		{"POST", "/a2a", "not even JSON"},
	}
	for _, m := range []string{
		"SendMessage", "SendStreamingMessage", "GetTask", "ListTasks", "CancelTask", "SubscribeToTask",
		"CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs",
		"DeleteTaskPushNotificationConfig", "GetExtendedAgentCard",
	} {
		calls = append(calls, [3]string{"POST", "/a2a", rpc(m, `{}`)}, [3]string{"POST", "/", rpc(m, `{}`)})
	}
	return calls
}

// refusedCall fails the test unless an answer is a refusal in the shape of its binding.
func refusedCall(t *testing.T, w *httptest.ResponseRecorder, path, retry string) {
	t.Helper()
	want := `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED",`
	if path == "/" || strings.HasPrefix(path, "/a2a") {
		want = `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,`
	}
	body := w.Body.String()
	if w.Code != 429 || w.Header().Get("Retry-After") != retry || !strings.HasPrefix(body, want) ||
		!strings.Contains(body, `"reason":"RESOURCE_EXHAUSTED"`) || !strings.Contains(body, "RetryInfo") {
		t.Errorf("%s = %d, Retry-After %q, %s; want 429 after %s s, %s…", path, w.Code, w.Header().Get("Retry-After"), body, retry, want)
	}
}

// TestEveryOperationIsLimited checks that every operation counts against the limits of its own
// caller only.
func TestEveryOperationIsLimited(t *testing.T) {
	t.Parallel()
	for _, c := range everyCall() {
		t.Run(c[0]+c[1], func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := limited(t, engine.Config{Limits: limits.Limits{RequestsPerSecond: 0.1, Burst: 1}})
				if w := call(f, "ann", c[0], c[1], c[2]); w.Code == 429 {
					t.Fatalf("the first call: %d %s", w.Code, w.Body)
				}
				refusedCall(t, call(f, "ann", c[0], c[1], c[2]), c[1], "10")
				if w := call(f, "bob", c[0], c[1], c[2]); w.Code == 429 {
					t.Errorf("another caller: %d %s", w.Code, w.Body)
				}
				time.Sleep(10*time.Second + time.Millisecond)
				synctest.Wait()
				if w := call(f, "ann", c[0], c[1], c[2]); w.Code == 429 {
					t.Errorf("after the wait: %d %s", w.Code, w.Body)
				}
			})
		})
	}
}

// TestWhatIsNotLimited checks that requests that need no credentials are not counted, and that
// callers without credentials are refused before anything is counted.
func TestWhatIsNotLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := limited(t, engine.Config{Limits: limits.Limits{RequestsPerSecond: 0.1, Burst: 1, BytesPerSecond: 1}})
		for range 5 {
			for _, path := range []string{"/healthz", "/readyz", "/.well-known/agent-card.json"} {
				if w := call(f, "ann", "GET", path, ""); w.Code == 429 {
					t.Errorf("%s = %d", path, w.Code)
				}
			}
			if w := call(f, "", "GET", "/v1/a2a/tasks", ""); w.Code != 401 {
				t.Errorf("without credentials: %d, want 401", w.Code)
			}
		}
	})
}

// TestBytesAreLimited checks that bodies are counted on every path, also when the request is
// refused for another reason, and whether or not their length was announced.
func TestBytesAreLimited(t *testing.T) {
	t.Parallel()
	body := rpc("GetTask", `{"id":"`+strings.Repeat("x", 500)+`"}`)
	for _, tt := range []struct{ name, path, body string }{
		{"JSON-RPC", "/a2a", body},
		{"HTTP+JSON", "/v1/a2a/message:send", message(strings.Repeat("x", 500))},
		{"not JSON", "/v1/a2a/message:send", strings.Repeat("x", 600)},
		{"API", "/api/v1/keys", strings.Repeat("x", 600)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := limited(t, engine.Config{Limits: limits.Limits{BytesPerSecond: 100}})
				for _, length := range []int64{int64(len(tt.body)), -1} {
					r := httptest.NewRequest("POST", tt.path, strings.NewReader(tt.body))
					r.ContentLength = length
					r.Header = http.Header{"Authorization": {"Bearer ann"}, "A2a-Version": {"1.0"}, "Content-Type": {"application/json"}}
					w := httptest.NewRecorder()
					f.ServeHTTP(w, r)
					if w.Code == 429 {
						t.Fatalf("the first body: %d %s", w.Code, w.Body)
					}
					if w := call(f, "ann", "GET", "/v1/a2a/tasks", ""); w.Code != 429 || w.Header().Get("Retry-After") == "" {
						t.Errorf("the next request: %d %s, want 429", w.Code, w.Body)
					}
					if w := call(f, "bob", "GET", "/v1/a2a/tasks", ""); w.Code == 429 {
						t.Errorf("another caller: %d %s", w.Code, w.Body)
					}
					time.Sleep(time.Minute)
					synctest.Wait()
				}
			})
		})
	}
}

// TestTasksAreLimited checks the limit on concurrent tasks, with the answer of each binding.
func TestTasksAreLimited(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{Auth: byKey(), Engine: startEngineWith(t, engine.Config{Limits: limits.Limits{TasksPerCaller: 1}}, everyone()...)})
	const later = `,"configuration":{"returnImmediately":true}}`
	body := strings.TrimSuffix(message("hi"), "}") + later
	if got := h.do("POST", "/v1/a2a/hold/message:send", body, "Authorization: Bearer ann"); got.code != 200 {
		t.Fatalf("the first task: %d %s", got.code, got.body)
	}
	for _, tt := range []struct{ path, body, want string }{
		{"/v1/a2a/hold/message:send", body, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED",`},
		{"/v1/a2a/message:stream", message("hi"), `{"error":{"code":429,`},
		{"/a2a", rpc("SendMessage", message("hi")), `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,`},
	} {
		got := h.do("POST", tt.path, tt.body, v1, "Authorization: Bearer ann")
		if got.code != 429 || got.header.Get("Retry-After") != "5" || !strings.HasPrefix(got.body, tt.want) {
			t.Errorf("%s = %d, Retry-After %q, %s; want 429 and %s…", tt.path, got.code, got.header.Get("Retry-After"), got.body, tt.want)
		}
		if got := h.do("POST", tt.path, strings.Replace(tt.body, "m1", "m2", 1), v1, "Authorization: Bearer bob"+tt.path); got.code != 200 {
			t.Errorf("%s for another caller = %d %s", tt.path, got.code, got.body)
		}
	}
}
