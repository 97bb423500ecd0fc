package httpfront_test

import (
	"encoding/json"
	"fmt"
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

// TestHugePushConfigs checks that fields of a megabyte are refused by name, or accepted
// unchanged, and never repeated in an error.
func TestHugePushConfigs(t *testing.T) {
	t.Parallel()
	h := startPushHub(t, httpfront.Config{})
	huge := strings.Repeat("x", 1<<20)
	for _, tt := range []struct{ config, field string }{
		{`{"url":"` + huge + `"}`, "url"},
		{`{"url":"https://hooks.example","id":"` + huge + `"}`, "id"},
		{`{"url":"https://hooks.example","id":"` + huge[:129] + `"}`, "id"},
		{`{"url":"https://hooks.example","tenant":"` + huge + `"}`, ""},
		{`{"url":"https://hooks.example","taskId":"` + huge + `"}`, "taskId"},
		{`{"url":"https://hooks.example","authentication":{"credentials":"` + huge + `"}}`, "authentication.scheme"},
	} {
		got := h.do("POST", configsOfT, tt.config)
		if got.code < 400 || got.code >= 500 || len(got.body) > 2000 {
			t.Errorf("%.40s… = %d with %d bytes, want a short refusal", tt.config, got.code, len(got.body))
		}
		if tt.field != "" && !strings.Contains(got.body, `"field":"`+tt.field+`"`) {
			t.Errorf("%.40s… = %.300s, want the field %s named", tt.config, got.body, tt.field)
		}
	}
	for _, path := range []string{configsOfT + "/" + huge[:8000], configsOfT + "?pageToken=" + huge[:8000]} {
		if got := h.do("GET", path, ""); got.code < 400 || got.code >= 500 || len(got.body) > 2000 {
			t.Errorf("GET %.60s… = %d with %d bytes, want a short refusal", path, got.code, len(got.body))
		}
	}
}

// TestTooManyPushConfigs checks that one config too many is refused in the shape of each
// binding.
func TestTooManyPushConfigs(t *testing.T) {
	t.Parallel()
	h := startPushHub(t, httpfront.Config{})
	for i := range engine.MaxPushConfigs {
		if got := h.do("POST", configsOfT, fmt.Sprintf(`{"id":"%d","url":"https://hooks.example"}`, i)); got.code != 200 {
			t.Fatalf("config %d = %d %s", i, got.code, got.body)
		}
	}
	got := h.do("POST", configsOfT, `{"url":"https://hooks.example"}`)
	if reason, f := got.failure(t); got.code != 429 || reason != "RESOURCE_EXHAUSTED" || !strings.Contains(f.Error.Message, "32") {
		t.Errorf("REST: %d %s, want 429 RESOURCE_EXHAUSTED that names the limit", got.code, got.body)
	}
	got = h.do("POST", "/a2a", rpc("CreateTaskPushNotificationConfig", `{"taskId":"t","url":"https://hooks.example"}`), v1)
	if reason, f := got.failure(t); got.code != 429 || reason != "RESOURCE_EXHAUSTED" || f.Error.Code != -32603 {
		t.Errorf("JSON-RPC: %d %s, want -32603 RESOURCE_EXHAUSTED", got.code, got.body)
	}
	var all struct{ Configs []json.RawMessage }
	if err := json.Unmarshal([]byte(h.do("GET", configsOfT, "").body), &all); err != nil || len(all.Configs) != engine.MaxPushConfigs {
		t.Errorf("%d configs are listed, %v; want %d", len(all.Configs), err, engine.MaxPushConfigs)
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
