package fidelity

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
)

// relayed is an artifact with unknown members that an executor passes on.
const relayed = `{"artifactId":"r1","name":"n","parts":[{"data":{"id":18446744073709551615,"f":1.10},"xPart":[1e400]},` +
	`{"text":"t","metadata":{"n":9007199254740993}}],"metadata":{"seq":-9223372036854775808},"xArtifact":{"big":123456789012345678901234567890}}`

// relay passes on its message as the message of its status, and the artifact relayed, both as
// raw JSON.
type relay struct{ listener }

func (relay) Execute(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	text := strings.Replace(content, "ROLE_USER", "ROLE_AGENT", 1)
	return func(yield func(a2a.Event, error) bool) {
		_ = yield(&agent.Raw{JSON: []byte(`{"artifactUpdate":{"taskId":"x","artifact":` + relayed + `}}`)}, nil) &&
			yield(&agent.Raw{JSON: []byte(`{"statusUpdate":{"taskId":"x","status":{"state":"TASK_STATE_COMPLETED","message":{` + text +
				`}},"metadata":{"cost":12345678901234567890}}}`)}, nil)
	}
}

// search returns the first object in v for which is returns true.
func search(v any, is func(map[string]any) bool) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		if is(v) {
			return v
		}
		for _, e := range v {
			if m := search(e, is); m != nil {
				return m
			}
		}
	case []any:
		for _, e := range v {
			if m := search(e, is); m != nil {
				return m
			}
		}
	}
	return nil
}

// checkRelayed checks the data that the agent has passed on.
func (h *hub) checkRelayed(what, got string) {
	h.t.Helper()
	var all []any
	for line := range strings.Lines(got) {
		if line = strings.TrimSpace(strings.TrimPrefix(line, "data:")); strings.HasPrefix(line, "{") {
			all = append(all, exact(h.t, line))
		}
	}
	artifact := search(all, func(m map[string]any) bool { return m["artifactId"] == "r1" })
	if diff := cmp.Diff(exact(h.t, relayed), artifact); diff != "" {
		h.t.Errorf("%s: artifact mismatch (-want +got):\n%s", what, diff)
	}
	text := search(all, func(m map[string]any) bool { return m["messageId"] == "m1" && m["role"] == "ROLE_AGENT" })
	delete(text, "taskId")
	delete(text, "contextId")
	want := exact(h.t, "{"+strings.Replace(content, "ROLE_USER", "ROLE_AGENT", 1)+"}")
	if diff := cmp.Diff(want, text); diff != "" {
		h.t.Errorf("%s: message mismatch (-want +got):\n%s", what, diff)
	}
}

func TestWhatAnAgentPassesOnIsUnchanged(t *testing.T) {
	t.Parallel()
	request := `{"message":{"messageId":"ask","role":"ROLE_USER","parts":[{"text":"hi"}]}}`
	rpc := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	}
	for store, open := range stores(t) {
		t.Run(store, func(t *testing.T) {
			h := startWith(t, open, func(heard chan []byte) a2asrv.AgentExecutor { return relay{listener{heard}} })
			h.checkRelayed("rest send", h.call("POST", "/v1/a2a/message:send", request))
			h.checkRelayed("rest stream", h.call("POST", "/v1/a2a/message:stream", request))
			h.checkRelayed("rpc stream", h.call("POST", "/a2a", rpc("SendStreamingMessage", request)))
			got := h.call("POST", "/a2a", rpc("SendMessage", request))
			h.checkRelayed("rpc send", got)
			id := idOf(t, got)
			for range 2 {
				h.checkRelayed("rest get", h.call("GET", "/v1/a2a/tasks/"+id, ""))
				h.checkRelayed("rpc get", h.call("POST", "/a2a", rpc("GetTask", `{"id":"`+id+`"}`)))
				h.checkRelayed("rest list", h.call("GET", "/v1/a2a/tasks?includeArtifacts=true", ""))
				if got := h.call("GET", "/v1/a2a/tasks/"+id, ""); !strings.Contains(got, `"metadata":{"cost":12345678901234567890}`) {
					t.Errorf("the metadata of the task is lost: %s", got)
				}
				h.stop()
				h.start()
			}
		})
	}
}
