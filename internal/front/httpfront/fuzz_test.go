package httpfront_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// FuzzServe checks that every request gets JSON or a stream, and never an internal error.
func FuzzServe(f *testing.F) {
	f.Add("POST", "/a2a", "1.0", rpc("SendMessage", message("hi")))
	f.Add("POST", "/a2a/echo/", "", rpc("GetTask", `{"id":"x"}`))
	f.Add("POST", "/v1/a2a/message:stream", "1.0", message("hi"))
	f.Add("GET", "/v1/a2a/tasks?pageSize=1&status=working", "", "")
	f.Add("GET", "/v1/a2a/tasks/a%2Fb:subscribe", "0.3", "")
	f.Add("DELETE", "/v1/a2a/tasks/t/pushNotificationConfigs/c", "", "")
	f.Add("GET", "/a2a/echo/.well-known/agent.json", "", "")
	f.Add("POST", "/v1/a2a/tasks/t/pushNotificationConfigs", "1.0", `{"id":"p","url":"https://hooks.example","authentication":{"schemes":["Bearer"]}}`)
	f.Add("GET", "/v1/a2a/tasks/t/pushNotificationConfigs?pageSize=1&pageToken=AAAAAAAAAAAx", "1.0", "")
	f.Add("POST", "/", "1.0", rpc("ListTaskPushNotificationConfig", `{"taskId":"t","pageSize":1}`))
	f.Add("POST", "/v1/a2a/message:send", "1.0", strings.Replace(message("hi"), `{`, `{"configuration":{"pushNotificationConfig":{"url":"https://hooks.example"}},`, 1))
	f.Add("GET", "/v1/parts/t/"+strings.Repeat("00", 32), "1.0", "")
	f.Add("HEAD", "/v1/parts/%2e%2e/"+strings.Repeat("0A", 32), "", "")
	cfg := partsConfig(f)
	cfg.Push = new(enginetest.Pusher)
	e := startEngineWith(f, cfg, newAgent("echo", echo()))
	front := httpfront.New(httpfront.Config{Engine: e, Auth: auth.Anyone()})
	before := httptest.NewRequest(http.MethodPost, "/v1/a2a/message:send", strings.NewReader(strings.Replace(message("hi"), `"role"`, `"taskId":"t","role"`, 1)))
	before.Header.Set("Content-Type", "application/json")
	front.ServeHTTP(httptest.NewRecorder(), before)
	f.Fuzz(func(t *testing.T, method, target, version, body string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || method == "" {
			return
		}
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)).WithContext(t.Context())
		r.Method, r.URL = method, u
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("A2A-Version", version)
		w := httptest.NewRecorder()
		front.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError {
			t.Fatalf("%s %s = %d %s", method, target, w.Code, w.Body)
		}
		if w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %s: not JSON: %s", method, target, w.Body)
		}
	})
}
