package httpfront

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/blobstore"
)

func TestParsePath(t *testing.T) {
	t.Parallel()
	rpc := func(agent string) route { return route{kind: atRPC, rpc: true, agent: agent} }
	tests := []struct {
		path string
		want route
	}{
		{"/", rpc("")},
		{"/a2a", rpc("")},
		{"/a2a/", rpc("")},
		{"/a2a/echo", rpc("echo")},
		{"/a2a/echo/", rpc("echo")},
		{"/a2a/a%20b%2Fc", rpc("a b/c")},
		{"/a2a/tasks", rpc("tasks")},
		{"/a2a/echo/a2a", rpc("echo")},
		{"/a2a/echo/a2a/", route{rpc: true, agent: "echo"}},
		{"/a2a/echo/x", route{rpc: true, agent: "echo"}},
		{"/a2a//", route{rpc: true}},
		{"/a2a/%zz", route{rpc: true}},
		{"/a2ax", route{}},

		{"/tasks/send", route{kind: atJob}},
		{"/a2a/tasks/send", route{kind: atJob}}, // the card of agent.json names /a2a
		{"/tasks/send/", route{}},
		{"/tasks", route{}},
		{"/a2a/echo/tasks/send", route{kind: atJob, agent: "echo"}},
		{"/a2a/echo/tasks/other", route{rpc: true, agent: "echo"}},

		{"/v1/message:send", route{kind: atSend, legacy: true}},
		{"/v1/message:stream", route{kind: atStream, legacy: true}},
		{"/v1/tasks/t1", route{kind: atTask, legacy: true, task: "t1"}},
		{"/v1/tasks/t1:cancel", route{kind: atCancel, legacy: true, task: "t1"}},
		{"/v1/tasks/t1:subscribe", route{kind: atSubscribe, legacy: true, task: "t1"}},
		{"/v1/tasks/t1/pushNotificationConfigs", route{kind: atPushConfigs, legacy: true, task: "t1"}},
		{"/v1/tasks/t1/pushNotificationConfigs/c", route{kind: atPushConfig, legacy: true, task: "t1", config: "c"}},
		{"/v1/card", route{kind: atExtendedCard, legacy: true}},
		{"/a2a/echo/v1/message:send", route{kind: atSend, legacy: true, agent: "echo"}},
		{"/a2a/a%20b/v1/tasks/t1:cancel", route{kind: atCancel, legacy: true, agent: "a b", task: "t1"}},
		{"/a2a/echo/v1/tasks/t1/pushNotificationConfigs/c", route{kind: atPushConfig, legacy: true, agent: "echo", task: "t1", config: "c"}},
		{"/a2a/echo/v1/card", route{kind: atExtendedCard, legacy: true, agent: "echo"}},
		{"/a2a/v1/message:send", route{rpc: true, agent: "v1"}},
		{"/a2a/echo/v1/tasks", route{agent: "echo"}},
		{"/a2a/echo/v1", route{rpc: true, agent: "echo"}},
		{"/v1/card/x", route{}},
		{"/v1/tasks", route{}},
		{"/v1/extendedAgentCard", route{}},
		{"/v1/.well-known/agent-card.json", route{}},
		{"/v1/models", route{}},
		{"/v1/%zz", route{}},
		{"/v1/", route{}},

		{"/v1/a2a/message:send", route{kind: atSend}},
		{"/v1/a2a/message%3Asend", route{kind: atSend}},
		{"/v1/a2a/message:stream", route{kind: atStream}},
		{"/v1/a2a/message:other", route{}},
		{"/v1/a2a/message:send/", route{agent: ""}},
		{"/v1/a2a/tasks", route{kind: atTasks}},
		{"/v1/a2a/tasks/", route{}},
		{"/v1/a2a/tasks/t1", route{kind: atTask, task: "t1"}},
		{"/v1/a2a/tasks/a:b", route{kind: atTask, task: "a:b"}},
		{"/v1/a2a/tasks/a%2Fb", route{kind: atTask, task: "a/b"}},
		{"/v1/a2a/tasks/t1:cancel", route{kind: atCancel, task: "t1"}},
		{"/v1/a2a/tasks/a:b:cancel", route{kind: atCancel, task: "a:b"}},
		{"/v1/a2a/tasks/a:cancel:cancel", route{kind: atCancel, task: "a:cancel"}},
		{"/v1/a2a/tasks/t1%3Acancel", route{kind: atTask, task: "t1:cancel"}},
		{"/v1/a2a/tasks/:cancel", route{}},
		{"/v1/a2a/tasks/t1:subscribe", route{kind: atSubscribe, task: "t1"}},
		{"/v1/a2a/tasks/t1:unknown", route{kind: atTask, task: "t1:unknown"}},
		{"/v1/a2a/tasks/t1/pushNotificationConfigs", route{kind: atPushConfigs, task: "t1"}},
		{"/v1/a2a/tasks/t1/pushNotificationConfigs/", route{task: "t1"}},
		{"/v1/a2a/tasks/t1/pushNotificationConfigs/c%2F1", route{kind: atPushConfig, task: "t1", config: "c/1"}},
		{"/v1/a2a/tasks/t1/pushNotificationConfigs/c/1", route{task: "t1"}},
		{"/v1/a2a/tasks/t1:cancel/pushNotificationConfigs", route{kind: atPushConfigs, task: "t1:cancel"}},
		{"/v1/a2a/tasks/t1/other", route{task: "t1"}},
		{"/v1/a2a/extendedAgentCard", route{kind: atExtendedCard}},
		{"/v1/a2a/extendedAgentCard/x", route{}},

		{"/v1/a2a/echo/message:send", route{kind: atSend, agent: "echo"}},
		{"/v1/a2a/echo/message:stream", route{kind: atStream, agent: "echo"}},
		{"/v1/a2a/echo/tasks", route{kind: atTasks, agent: "echo"}},
		{"/v1/a2a/echo/tasks/t1", route{kind: atTask, agent: "echo", task: "t1"}},
		{"/v1/a2a/echo/tasks/t1:cancel", route{kind: atCancel, agent: "echo", task: "t1"}},
		{"/v1/a2a/echo/tasks/t1:subscribe", route{kind: atSubscribe, agent: "echo", task: "t1"}},
		{"/v1/a2a/a%20b/tasks/t1/pushNotificationConfigs/c1", route{kind: atPushConfig, agent: "a b", task: "t1", config: "c1"}},
		{"/v1/a2a/echo/extendedAgentCard", route{kind: atExtendedCard, agent: "echo"}},
		{"/v1/a2a/echo/echo/tasks", route{agent: "echo"}},
		{"/v1/a2a/echo", route{}},
		{"/v1/a2a/echo/", route{}},
		{"/v1/a2a/", route{}},
		{"/v1/a2a", route{}},
		{"/v1/a2a//tasks", route{}},

		{"/.well-known/agent-card.json", route{kind: atCard}},
		{"/.well-known/agent.json", route{kind: atLegacyCard}},
		{"/.well-known/other", route{}},
		{"/a2a/.well-known/agent-card.json", route{kind: atCard}},
		{"/a2a/echo/.well-known/agent-card.json", route{kind: atCard, agent: "echo"}},
		{"/a2a/echo/.well-known/agent.json", route{kind: atLegacyCard, agent: "echo"}},
		{"/v1/a2a/.well-known/agent-card.json", route{kind: atCard}},
		{"/v1/a2a/echo/.well-known/agent-card.json", route{kind: atCard, agent: "echo"}},
		{"/v1/a2a/echo/.well-known/agent.json", route{kind: atLegacyCard, agent: "echo"}},

		{"/healthz", route{kind: atHealth}},
		{"/readyz", route{kind: atReady}},
		{"/mcp", route{kind: atMCP}},
		{"/mcp/", route{}},
		{"/api/v1", route{kind: atAPI}},
		{"/api/v1/agents", route{kind: atAPI}},
		{"/api/v1/openapi.json", route{kind: atDescription}},
		{"/api/v10", route{}},
		{"/other", route{}},
		{"", route{}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, parsePath(tt.path), cmp.AllowUnexported(route{})); diff != "" {
			t.Errorf("parsePath(%q) mismatch (-want +got):\n%s", tt.path, diff)
		}
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	for p := atRPC; p < numKinds; p++ {
		r := route{kind: p}
		for _, m := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", ""} {
			want := p == atAPI || p == atCallback || m != "" && strings.Contains(", "+allow[p]+", ", ", "+m+", ")
			if got := r.allows(m, allow[p]); got != want {
				t.Errorf("place %d: allows(%q) = %t, want %t (%s)", p, m, got, want, allow[p])
			}
		}
	}
}

// FuzzParsePath checks that a path built from arbitrary ids parses to the same ids.
func FuzzParsePath(f *testing.F) {
	f.Add("/v1/a2a/tasks/x", "echo", "a:b:cancel")
	f.Add("/a2a/%2F", "tasks", "%3Acancel")
	f.Add("//", "..", "a/b")
	f.Add("/v1/a2a/%zz/tasks", ".well-known", "")
	f.Add("/v1/parts/%2e%2e/0101010101010101010101010101010101010101010101010101010101010101", "parts", "..")
	f.Fuzz(func(t *testing.T, path, agent, id string) {
		if r := parsePath(path); r.kind == noRoute && r.config != "" {
			t.Errorf("parsePath(%q) = %+v: config without place", path, r)
		}
		if id == "" || agent == "" || reserved(agent) {
			return
		}
		base := "/v1/a2a/" + url.PathEscape(agent) + "/tasks/" + url.PathEscape(id)
		want := route{kind: atCancel, agent: agent, task: id}
		if got := parsePath(base + ":cancel"); got != want {
			t.Errorf("parsePath(%q) = %+v, want %+v", base+":cancel", got, want)
		}
		digest := blobstore.Digest{1, 2, 3}
		part := new(blobstore.Externalizer).URL(a2a.TaskID(id), digest)
		want = route{kind: atPart, task: id, digest: digest}
		if got := parsePath(part); got != want {
			t.Errorf("parsePath(%q) = %+v, want %+v", part, got, want)
		}
		want = route{kind: atPushConfig, agent: agent, task: id, config: id}
		full := base + "/pushNotificationConfigs/" + url.PathEscape(id)
		if got := parsePath(full); got != want {
			t.Errorf("parsePath(%q) = %+v, want %+v", full, got, want)
		}
	})
}

func BenchmarkParsePath(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if parsePath("/v1/a2a/echo/tasks/0192f3a4-5b6c-7d8e-9f00-112233445566:cancel").kind != atCancel {
			b.Fatal("wrong place")
		}
	}
}

// TestFind: a proxy may keep or remove the path of the public URL. A path of the hub's own comes first.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		public, path string
		want         route
		inner        string
	}{
		{"https://x.example/hub", "/hub/a2a/echo", route{kind: atRPC, rpc: true, agent: "echo"}, "/a2a/echo"},
		{"https://x.example/hub/", "/hub", route{kind: atRPC, rpc: true}, "/"},
		{"https://x.example/hub", "/hub/", route{kind: atRPC, rpc: true}, "/"},
		{"https://x.example/hub", "/a2a/echo", route{kind: atRPC, rpc: true, agent: "echo"}, "/a2a/echo"},
		{"https://x.example/hub", "/hub/a2a/a%2Fb", route{kind: atRPC, rpc: true, agent: "a/b"}, "/a2a/a/b"},
		{"https://x.example/hub", "/hub/console/task", route{kind: atConsole}, "/console/task"},
		{"https://x.example/hub", "/hub/hub/console/", route{}, "/hub/console/"},
		{"https://x.example/hub", "/hubs/console/", route{}, "/hubs/console/"},
		{"https://x.example/hub", "/nowhere", route{}, "/nowhere"},
		{"https://x.example/a%20b", "/a%20b/healthz", route{kind: atHealth}, "/healthz"},
		{"https://x.example/a2a", "/a2a/a2a", route{kind: atRPC, rpc: true, agent: "a2a"}, "/a2a/a2a"},
		{"https://x.example", "/console/", route{kind: atConsole}, "/console/"},
		{"", "/hub/console/", route{}, "/hub/console/"},
	} {
		x := &exchange{front: &Front{prefix: prefixOf(tt.public)}, r: httptest.NewRequest("GET", tt.path, nil)}
		x.find()
		if diff := cmp.Diff(tt.want, x.route, cmp.AllowUnexported(route{})); diff != "" || x.r.URL.Path != tt.inner {
			t.Errorf("%s at %s: path %q, want %q; route (-want +got):\n%s", tt.path, tt.public, x.r.URL.Path, tt.inner, diff)
		}
	}
}
