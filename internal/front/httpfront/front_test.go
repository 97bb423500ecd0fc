package httpfront_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// failure is an error body of either surface.
type failure struct {
	Error struct {
		Code    int
		Status  string
		Message string
		Details []struct {
			Reason   string
			Metadata map[string]string
		}
		Data []struct {
			Reason   string
			Metadata map[string]string
		}
	}
}

func (a *answer) failure(t *testing.T) (reason string, f failure) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &f); err != nil {
		t.Fatalf("not an error: %v\n%s", err, a.body)
	}
	for _, d := range append(f.Error.Details, f.Error.Data...) {
		return d.Reason, f
	}
	t.Fatalf("error without details: %s", a.body)
	return "", f
}

// TestRoutes checks that every route of both bindings leads to its operation. The reasons are
// those of empty calls.
func TestRoutes(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{}, everyone()...)
	const notFound, noPush, none = "TASK_NOT_FOUND", "PUSH_NOTIFICATION_NOT_SUPPORTED", "METHOD_NOT_FOUND"
	rest := []struct {
		method, path, body string
		code               int
		reason             string
	}{
		{"POST", "/message:send", `{}`, 400, "INVALID_PARAMS"},
		{"POST", "/message:stream", `{}`, 400, "INVALID_PARAMS"},
		{"GET", "/tasks", "", 200, ""},
		{"GET", "/tasks/x", "", 404, notFound},
		{"POST", "/tasks/x:cancel", "", 404, notFound},
		{"POST", "/tasks/x:cancel", "{}", 404, notFound},
		{"POST", "/tasks/x:subscribe", "", 404, notFound},
		{"POST", "/tasks/x:subscribe", "{}", 404, notFound},
		{"GET", "/tasks/x:subscribe", "", 404, notFound},
		{"POST", "/tasks/x/pushNotificationConfigs", "{}", 400, noPush},
		{"GET", "/tasks/x/pushNotificationConfigs", "", 400, noPush},
		{"GET", "/tasks/x/pushNotificationConfigs/y", "", 400, noPush},
		{"DELETE", "/tasks/x/pushNotificationConfigs/y", "", 400, noPush},
		{"GET", "/extendedAgentCard", "", 501, "UNSUPPORTED_OPERATION"},
		{"PUT", "/tasks/x", "{}", 405, none},
		{"GET", "/message:send", "", 405, none},
		{"GET", "/tasks/x:cancel", "", 405, none},
		{"PATCH", "/tasks/x/pushNotificationConfigs/y", "{}", 405, none},
		{"GET", "/other", "", 404, none},
	}
	for _, prefix := range []string{"/v1/a2a", "/v1/a2a/ask", "/v1/a2a/%61sk"} {
		for _, tt := range rest {
			if prefix != "/v1/a2a" && tt.path == "/other" {
				continue
			}
			got := h.do(tt.method, prefix+tt.path, tt.body)
			if got.code != tt.code {
				t.Errorf("%s %s = %d %s, want %d", tt.method, prefix+tt.path, got.code, got.body, tt.code)
			}
			if tt.reason == "" {
				continue
			}
			if reason, f := got.failure(t); reason != tt.reason || f.Error.Code != tt.code {
				t.Errorf("%s %s = code %d reason %s, want %d %s", tt.method, prefix+tt.path, f.Error.Code, reason, tt.code, tt.reason)
			}
		}
	}
	calls := map[string]int{
		"SendMessage": -32602, "SendStreamingMessage": -32602, "GetTask": -32602, "ListTasks": 0,
		"CancelTask": -32602, "SubscribeToTask": -32602, "CreateTaskPushNotificationConfig": -32003,
		"GetTaskPushNotificationConfig": -32003, "ListTaskPushNotificationConfigs": -32003,
		"DeleteTaskPushNotificationConfig": -32003, "GetExtendedAgentCard": -32004, "message/send": -32601,
	}
	for _, path := range []string{"/", "/a2a", "/a2a/", "/a2a/ask", "/a2a/ask/"} {
		for method, code := range calls {
			got := h.do("POST", path, rpc(method, "{}"), v1)
			var f failure
			if err := json.Unmarshal([]byte(got.body), &f); err != nil || got.code != 200 || f.Error.Code != code {
				t.Errorf("POST %s %s = %d %s, want 200 with code %d", path, method, got.code, got.body, code)
			}
		}
	}
}

// TestSpecStatuses checks that callers that name a version get the statuses of the
// specification, as all callers of a hub with SpecStatuses do. Callers that name none get those
// that they expect.
func TestSpecStatuses(t *testing.T) {
	t.Parallel()
	plain, spec := startHub(t, httpfront.Config{}, everyone()...), startHub(t, httpfront.Config{SpecStatuses: true}, everyone()...)
	odd := strings.Replace(message("x"), `"text":"x"`, `"text":"x","mediaType":"image/png"`, 1)
	for _, tt := range []struct {
		name                        string
		hub                         *hub
		query                       string
		headers                     []string
		canceled, undeclared, media int
	}{
		{"no version", plain, "", nil, 409, 501, 415},
		{"version in the header", plain, "", []string{v1}, 400, 400, 400},
		{"version in the query", plain, "?A2A-Version=1.0", nil, 400, 400, 400},
		{"statuses of the specification", spec, "", nil, 400, 400, 400},
	} {
		tt.hub.do("POST", "/v1/a2a/message:send", strings.Replace(message("x"), `"role"`, `"taskId":"t","role"`, 1))
		for _, call := range []struct {
			method, path, body, reason string
			code                       int
		}{
			{"POST", "/v1/a2a/tasks/t:cancel", "", "TASK_NOT_CANCELABLE", tt.canceled},
			{"GET", "/v1/a2a/extendedAgentCard", "", "UNSUPPORTED_OPERATION", tt.undeclared},
			{"POST", "/v1/a2a/plain/message:send", odd, "CONTENT_TYPE_NOT_SUPPORTED", tt.media},
		} {
			got := tt.hub.do(call.method, call.path+tt.query, call.body, tt.headers...)
			if reason, _ := got.failure(t); got.code != call.code || reason != call.reason {
				t.Errorf("%s: %s %s = %d %s, want %d", tt.name, call.method, call.path, got.code, got.body, call.code)
			}
		}
	}
	if got := spec.do("GET", "/v1/a2a/tasks/t:subscribe", ""); got.code != 400 {
		t.Errorf("a subscription by GET to a task that has ended = %d %s, want the specification's 400", got.code, got.body)
	}
}

func TestLenientVersion(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{LenientVersion: true}, everyone()...)
	if got := h.do("POST", "/a2a", rpc("ListTasks", "{}")); !strings.Contains(got.body, `"result"`) {
		t.Errorf("a call without version = %s, want a result", got.body)
	}
	got := h.do("POST", "/a2a", rpc("ListTasks", "{}"), "A2A-Version: 0.3")
	if reason, _ := got.failure(t); reason != "VERSION_NOT_SUPPORTED" {
		t.Errorf("a call of version 0.3 = %s, want VERSION_NOT_SUPPORTED", got.body)
	}
}

// Each binding takes the version from the query, too (specification §3.6.1), and refuses one that it does
// not serve.
func TestVersionInTheQuery(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{}, everyone()...)
	for path, body := range map[string]string{"/a2a": rpc("SendMessage", message("x")), "/": rpc("SendMessage", message("y")), "/v1/a2a/message:send": message("z")} {
		if got := h.do("POST", path+"?A2A-Version=1.0", body); got.code != 200 || !strings.Contains(got.body, "TASK_STATE_COMPLETED") {
			t.Errorf("%s with version 1.0 = %d %s", path, got.code, got.body)
		}
		got := h.do("POST", path+"?a2a-version=9.9", body)
		if reason, _ := got.failure(t); reason != "VERSION_NOT_SUPPORTED" {
			t.Errorf("%s with version 9.9 = %d %s", path, got.code, got.body)
		}
	}
}

// A compressed body is refused at every path, and the answer names the accepted encoding.
func TestCompressedBodies(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{API: http.NotFoundHandler(), MCP: http.NotFoundHandler(), Console: http.NotFoundHandler()}, everyone()...)
	for _, path := range []string{"/", "/a2a", "/a2a/plain", "/v1/a2a/message:send", "/v1/message:send", "/tasks/send", "/mcp", "/api/v1/keys", "/console/login"} {
		for _, version := range []string{v1, "A2A-Version: 0.3"} {
			got := h.do("POST", path, "\x1f\x8b", version, "Content-Encoding: gzip")
			if got.code != 415 || got.header.Get("Accept-Encoding") != "identity" || !strings.Contains(got.body, "content encoding") {
				t.Errorf("%s, %s: %d %s, accepted %q", path, version, got.code, got.body, got.header.Get("Accept-Encoding"))
			}
		}
	}
	if got := h.do("POST", "/a2a", rpc("SendMessage", message("x")), v1, "Content-Encoding: identity"); got.code != 200 || strings.Contains(got.body, "error") {
		t.Errorf("a body without compression: %d %s", got.code, got.body)
	}
}

// TestEntrance checks that a browser at the address of a hub gets the console, and no other client.
func TestEntrance(t *testing.T) {
	t.Parallel()
	console := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "console at "+r.URL.Path) })
	const html = "Accept: text/html,application/xhtml+xml,*/*;q=0.8"
	h := startHub(t, httpfront.Config{Console: console, PublicURL: "https://x.example/hub"}, everyone()...)
	for _, path := range []string{"/", "/hub", "/hub/"} {
		if got := h.do("GET", path, "", html); got.code != 200 || got.body != "console at /console/" {
			t.Errorf("%s: %d %s", path, got.code, got.body)
		}
	}
	for _, tt := range []struct{ method, path, accept string }{
		{"GET", "/", "Accept: */*"}, {"GET", "/", "Accept: application/json"}, {"GET", "/a2a", html}, {"PUT", "/", html},
	} {
		if got := h.do(tt.method, tt.path, "", tt.accept); got.code != 405 {
			t.Errorf("%s %s with %s: %d %s", tt.method, tt.path, tt.accept, got.code, got.body)
		}
	}
	if got := h.do("POST", "/", rpc("SendMessage", message("x")), v1, html); got.code != 200 || !strings.Contains(got.body, "TASK_STATE_COMPLETED") {
		t.Errorf("a call: %d %s", got.code, got.body)
	}
	h = startHub(t, httpfront.Config{}, everyone()...)
	if got := h.do("GET", "/", "", html); got.code != 405 {
		t.Errorf("without a console: %d %s", got.code, got.body)
	}
}

func TestNoStreaming(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{NoStreaming: true}, everyone()...)
	for _, got := range []*answer{
		h.do("POST", "/v1/a2a/message:stream", message("hi")),
		h.do("GET", "/v1/a2a/tasks/x:subscribe", ""),
		h.do("POST", "/a2a", rpc("SendStreamingMessage", message("hi")), v1),
		h.do("POST", "/a2a", rpc("SubscribeToTask", `{"id":"x"}`), v1),
	} {
		if reason, _ := got.failure(t); reason != "UNSUPPORTED_OPERATION" {
			t.Errorf("answer = %d %s, want UNSUPPORTED_OPERATION", got.code, got.body)
		}
	}
	if got := h.do("GET", "/.well-known/agent-card.json", ""); !strings.Contains(got.body, `"streaming":false`) {
		t.Errorf("card = %s, want streaming false", got.body)
	}
	if got := h.do("GET", "/v1/a2a/tasks", ""); !strings.Contains(got.body, `"totalSize":0`) {
		t.Errorf("a refused stream left a task: %s", got.body)
	}
}

func TestAuthentication(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{Auth: byKey()}, everyone()...)
	for _, req := range [][2]string{
		{"/a2a", rpc("ListTasks", "{}")},
		{"/a2a/nobody", rpc("ListTasks", "{}")},
		{"/v1/a2a/message:send", message("x")},
		{"/v1/a2a/nobody/message:send", message("x")},
	} {
		got := h.do("POST", req[0], req[1], v1)
		if reason, _ := got.failure(t); got.code != 401 || reason != "UNAUTHENTICATED" {
			t.Errorf("POST %s = %d %s, want 401 for all callers alike", req[0], got.code, got.body)
		}
		if got.header.Get("WWW-Authenticate") == "" {
			t.Errorf("POST %s: no challenge", req[0])
		}
	}
	for _, path := range []string{"/.well-known/agent-card.json", "/healthz"} {
		if got := h.do("GET", path, ""); got.code != 200 {
			t.Errorf("GET %s = %d, want 200 without credentials", path, got.code)
		}
	}
}

// TestHiddenErrors checks that internal error texts reach the operator only.
func TestHiddenErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		auth auth.Func
	}{
		{"error", func(context.Context, *auth.Request) (*auth.Principal, error) {
			return nil, errors.New("secret: disk on fire")
		}},
		{"panic", func(context.Context, *auth.Request) (*auth.Principal, error) { panic("secret: disk on fire") }},
		{"no principal", func(context.Context, *auth.Request) (*auth.Principal, error) { return nil, nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log logbook
			h := startHub(t, httpfront.Config{Auth: tt.auth, Logger: log.logger()}, everyone()...)
			got := h.do("GET", "/v1/a2a/tasks", "")
			reason, f := got.failure(t)
			if got.code != 500 || reason != "INTERNAL_ERROR" || strings.Contains(got.body, "secret") {
				t.Errorf("answer = %d %s, want an internal error without its text", got.code, got.body)
			}
			ref := f.Error.Details[0].Metadata["reference"]
			if ref == "" || strings.Count(log.String(), ref) != 1 {
				t.Errorf("reference %q, log %s; want one record with it", ref, log.String())
			}
			got = h.do("POST", "/a2a", rpc("ListTasks", "{}"), v1)
			if _, f := got.failure(t); got.code != 200 || f.Error.Code != -32603 {
				t.Errorf("JSON-RPC answer = %d %s, want code -32603", got.code, got.body)
			}
			if n := strings.Count(log.String(), "level=ERROR"); n != 2 {
				t.Errorf("log has %d records, want one for each request:\n%s", n, log.String())
			}
		})
	}
}

func TestAPI(t *testing.T) {
	t.Parallel()
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/panic" {
			io.WriteString(w, "half")
			panic("after the answer has begun")
		}
		fmt.Fprintf(w, "%s %s for %s", r.Method, r.URL.Path, auth.PrincipalFrom(r.Context()).ID)
	})
	var log logbook
	h := startHub(t, httpfront.Config{Auth: byKey(), API: api, Logger: log.logger()}, everyone()...)
	const ann = "Authorization: Bearer ann"
	if got := h.do("DELETE", "/api/v1/agents", "", ann); got.body != "DELETE /api/v1/agents for ann" {
		t.Errorf("answer = %d %q, want the API's with its caller", got.code, got.body)
	}
	if got := h.do("GET", "/api/v1", ""); got.code != 401 {
		t.Errorf("without credentials = %d, want 401", got.code)
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", h.url+"/api/v1/panic", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer ann")
	if resp, err := h.client.Do(r); err == nil {
		resp.Body.Close()
		t.Errorf("GET /api/v1/panic = %s, want a cut connection", resp.Status)
	}
	if !strings.Contains(log.String(), "after the answer has begun") {
		t.Errorf("log = %s, want the panic", log.String())
	}
	none := startHub(t, httpfront.Config{}, everyone()...)
	if got := none.do("GET", "/api/v1/agents", ""); got.code != 404 {
		t.Errorf("without an API = %d, want 404", got.code)
	}
}

// TestAnonymous checks that without an authenticator the front serves this machine alone.
func TestAnonymous(t *testing.T) {
	t.Parallel()
	e := startEngine(t, everyone()...)
	tests := []struct {
		name             string
		cfg              httpfront.Config
		peer, host, orig string
		want             int
	}{
		{"local", httpfront.Config{}, "127.0.0.1:9", "localhost:4100", "", 200},
		{"local over IPv6", httpfront.Config{}, "[::1]:9", "[::1]:4100", "", 200},
		{"local socket", httpfront.Config{}, "@", "localhost", "", 200},
		{"other machine", httpfront.Config{}, "10.0.0.7:9", "localhost", "", 401},
		{"rebound name", httpfront.Config{}, "127.0.0.1:9", "evil.example", "", 403},
		{"foreign page", httpfront.Config{}, "127.0.0.1:9", "localhost", "https://evil.example", 403},
		{"everyone", httpfront.Config{Auth: auth.Anyone()}, "10.0.0.7:9", "hub.example", "https://page.example", 200},
		{"everyone, but guarded", httpfront.Config{Auth: auth.Anyone(), Loopback: true}, "127.0.0.1:9", "hub.example", "", 403},
		{"keys, guarded", httpfront.Config{Auth: byKey(), Loopback: true}, "127.0.0.1:9", "hub.example", "", 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.cfg.Engine = e
			r := httptest.NewRequest("GET", "/v1/a2a/tasks", nil)
			r.RemoteAddr, r.Host = tt.peer, tt.host
			if tt.orig != "" {
				r.Header.Set("Origin", tt.orig)
			}
			w := httptest.NewRecorder()
			httpfront.New(tt.cfg).ServeHTTP(w, r)
			if w.Code != tt.want {
				t.Errorf("peer %s, host %s, origin %q = %d %s, want %d", tt.peer, tt.host, tt.orig, w.Code, w.Body, tt.want)
			}
		})
	}
}

// TestServiceParams checks that the agent gets the service parameters and extensions of the
// call, and no credentials.
func TestServiceParams(t *testing.T) {
	t.Parallel()
	seen := make(chan *a2asrv.ExecutorContext, 1)
	spy := described(func(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
		seen <- ec
		yield(status(ec, "TASK_STATE_COMPLETED", ""), nil)
	})
	h := startHub(t, httpfront.Config{Auth: byKey()}, newAgent("spy", spy))
	h.do("POST", "/a2a", rpc("SendMessage", message("hi")), v1, "Authorization: Bearer ann", "Cookie: a=b",
		"A2A-Extensions: https://x.example/1, https://x.example/2", "A2A-Other: o", "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "X-Correlation-ID: c")
	ec := <-seen
	got := map[string][]string{}
	for k, v := range ec.ServiceParams.List() {
		got[k] = v
	}
	want := map[string][]string{
		"a2a-extensions":   {"https://x.example/1", "https://x.example/2"},
		"a2a-other":        {"o"},
		"traceparent":      {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		"x-correlation-id": {"c"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("service parameters mismatch (-want +got):\n%s", diff)
	}
	if ec.User.Name != "ann" {
		t.Errorf("user = %q, want ann", ec.User.Name)
	}
}

func TestNewWithoutEngine(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("New without an engine did not panic")
		}
	}()
	httpfront.New(httpfront.Config{})
}

func TestHealth(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{Engine: engine.New(engine.Config{Store: new(memstore.Store)})})
	if got := h.do("GET", "/healthz", ""); got.code != 200 || got.body != `{"status":"ok"}` {
		t.Errorf("/healthz = %d %s", got.code, got.body)
	}
	// An engine that has not started has not recovered its tasks.
	got := h.do("GET", "/readyz", "")
	var report struct {
		Status string
		Checks []engine.Check
	}
	if err := json.Unmarshal([]byte(got.body), &report); err != nil {
		t.Fatal(err)
	}
	if got.code != 503 || report.Status != "not ready" || len(report.Checks) == 0 {
		t.Errorf("/readyz before the engine runs = %d %s, want 503", got.code, got.body)
	}
	if got := h.do("HEAD", "/readyz", ""); got.code != 503 || got.body != "" {
		t.Errorf("HEAD /readyz = %d %q", got.code, got.body)
	}
	if got := h.do("POST", "/healthz", "{}"); got.code != 405 {
		t.Errorf("POST /healthz = %d, want 405", got.code)
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := httpfront.New(httpfront.Config{Engine: startEngine(t, everyone()...), Auth: auth.Anyone()})
		synctest.Wait() // the engine has started
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
		if w.Code != 200 || !strings.Contains(w.Body.String(), `"status":"ready"`) {
			t.Errorf("/readyz = %d %s, want 200", w.Code, w.Body)
		}
	})
}

// TestCallersWhoWaitNoLonger checks that a failure caused by the caller's disconnect is not
// logged as an error of the hub.
func TestCallersWhoWaitNoLonger(t *testing.T) {
	t.Parallel()
	var log logbook
	waited := errors.New("the time to wait is over")
	f := httpfront.New(httpfront.Config{
		Engine: startEngine(t, everyone()...), Logger: log.logger(),
		Auth: auth.Func(func(context.Context, *auth.Request) (*auth.Principal, error) { return nil, waited }),
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(waited)
	f.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/v1/a2a/tasks", nil))
	if strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("the log has %s", log.String())
	}
}
