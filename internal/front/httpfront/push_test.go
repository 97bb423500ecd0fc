package httpfront_test

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// startPushHub serves a hub that sends push notifications, with the task t.
func startPushHub(t *testing.T, cfg httpfront.Config) *hub {
	t.Helper()
	cfg.Engine = startEngineWith(t, engine.Config{Push: new(enginetest.Pusher)}, everyone()...)
	h := startHub(t, cfg)
	if got := h.do("POST", "/v1/a2a/message:send", strings.Replace(message("x"), `"role"`, `"taskId":"t","role"`, 1)); got.code != 200 {
		t.Fatalf("message:send = %d %s", got.code, got.body)
	}
	return h
}

const configsOfT = "/v1/a2a/tasks/t/pushNotificationConfigs"

// TestDeletedPushConfig checks that the answer to a deletion depends on the client.
func TestDeletedPushConfig(t *testing.T) {
	t.Parallel()
	plain, spec := startPushHub(t, httpfront.Config{}), startPushHub(t, httpfront.Config{SpecStatuses: true})
	for _, tt := range []struct {
		name    string
		hub     *hub
		query   string
		headers []string
		code    int
		body    string
	}{
		{name: "no version", hub: plain, code: 204},
		{name: "version in the header", hub: plain, headers: []string{v1}, code: 200, body: "{}"},
		{name: "version in the query", hub: plain, query: "?A2A-Version=1.0", code: 200, body: "{}"},
		{name: "statuses of the specification", hub: spec, code: 200, body: "{}"},
	} {
		tt.hub.do("POST", configsOfT, `{"id":"a","url":"https://hooks.example"}`)
		got := tt.hub.do("DELETE", configsOfT+"/a"+tt.query, "", tt.headers...)
		if got.code != tt.code || got.body != tt.body || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %q, want %d %q", tt.name, got.code, got.body, tt.code, tt.body)
		}
	}
}

// TestPushConfigsOfOthers checks that requests for another caller's task get byte for byte the
// answer for a missing one, on either binding, and do not change its configs.
func TestPushConfigsOfOthers(t *testing.T) {
	t.Parallel()
	e := startEngineWith(t, engine.Config{Push: new(enginetest.Pusher)}, everyone()...)
	h := startHub(t, httpfront.Config{Engine: e, Auth: byKey()})
	const ann, bob = "Authorization: Bearer ann", "Authorization: Bearer bob"
	h.do("POST", "/v1/a2a/message:send", strings.Replace(message("x"), `"role"`, `"taskId":"ours","role"`, 1), ann)
	configs := func(id string) string { return "/v1/a2a/tasks/" + id + "/pushNotificationConfigs" }
	if got := h.do("POST", configs("ours"), `{"id":"a","url":"https://hooks.example/marker"}`, ann); got.code != 200 {
		t.Fatalf("create = %d %s", got.code, got.body)
	}
	page := h.do("GET", configs("ours"), "", ann).body
	calls := func(id string) map[string]*answer {
		return map[string]*answer{
			"create":     h.do("POST", configs(id), `{"url":"https://hooks.example/b"}`, bob),
			"replace":    h.do("POST", configs(id), `{"id":"a","url":"https://hooks.example/b"}`, bob),
			"get":        h.do("GET", configs(id)+"/a", "", bob),
			"list":       h.do("GET", configs(id), "", bob),
			"delete":     h.do("DELETE", configs(id)+"/a", "", bob),
			"rpc create": h.do("POST", "/a2a", rpc("CreateTaskPushNotificationConfig", `{"taskId":"`+id+`","url":"https://hooks.example/b"}`), v1, bob),
			"rpc get":    h.do("POST", "/a2a", rpc("GetTaskPushNotificationConfig", `{"taskId":"`+id+`","id":"a"}`), v1, bob),
			"rpc list":   h.do("POST", "/a2a", rpc("ListTaskPushNotificationConfigs", `{"taskId":"`+id+`"}`), v1, bob),
			"rpc delete": h.do("POST", "/a2a", rpc("DeleteTaskPushNotificationConfig", `{"taskId":"`+id+`","id":"a"}`), v1, bob),
		}
	}
	missing := calls("none")
	for name, got := range calls("ours") {
		if want := missing[name]; got.code != want.code || got.body != want.body || !strings.Contains(got.body, "TASK_NOT_FOUND") {
			t.Errorf("%s: a foreign task gets %d %s, a missing one %d %s", name, got.code, got.body, want.code, want.body)
		}
	}
	if after := h.do("GET", configs("ours"), "", ann).body; after != page || !strings.Contains(page, "marker") {
		t.Errorf("after foreign calls the configs are %s, want %s", after, page)
	}
}
