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
