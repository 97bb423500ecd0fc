package hubclient_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
	"github.com/parley-a2a/parley/internal/llm/hubtools"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// A server that is no hub, or does not answer like one, aborts the call: nothing blocks, and
// nothing of its answer becomes a result.
func TestNoHub(t *testing.T) {
	t.Parallel()
	answers := map[string]http.HandlerFunc{
		"a page": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<html>Welcome</html>")
		},
		"an error page": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>oops</html>", http.StatusInternalServerError)
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
		},
		"half an answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"agents":[`)
		},
		"busy": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"message":"later"}}`, http.StatusServiceUnavailable)
		},
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(answer)
			t.Cleanup(srv.Close)
			hub := &hubclient.Hub{URL: srv.URL, Patience: 100 * time.Millisecond}
			tools, err := (&hubtools.Toolbox{Hub: hub, Session: "x"}).Tools(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			calls := map[string]string{
				"list_known_agents": `{}`, "invoke_agent": `{"agent_name":"a","skill":"b","message":"c"}`, "get_task": `{"task_id":"t"}`,
				"ask_human": `{"question":"q"}`, "get_from_working_memory": `{"key":"k"}`, "search_known_services": `{"query":"q"}`,
			}
			for _, tool := range tools {
				if args, ok := calls[tool.Name]; ok {
					if r, err := tool.Call(t.Context(), &llm.Call{Arguments: json.RawMessage(args)}); err == nil {
						t.Errorf("%s = %s", tool.Name, text(r))
					}
				}
			}
		})
	}
}

// If a hub goes down for good while a call waits, the model learns the id of the task.
func TestUnreachableHubDuringCall(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{})
	hub := &hubclient.Hub{URL: h.URL(), Patience: 300 * time.Millisecond}
	k := kitOf(t, h, (&hubtools.Toolbox{Hub: hub, Session: "gone"}))
	var once sync.Once
	c := &llm.Call{
		Arguments: json.RawMessage(`{"agent_name":"slow","skill":"slow","message":"600"}`),
		Progress:  func(llm.Progress) { once.Do(h.Kill) },
	}
	got := data(t, k.with(t.Context(), "invoke_agent", c))
	if state, _ := got["state"].(string); !strings.Contains("working submitted", state) || got["working_memory_key"] == nil || got["next"] == nil {
		t.Errorf("when the hub is gone: %v", got)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	id := marshal(t, map[string]any{"task_id": got["task_id"]})
	if r := k.with(t.Context(), "get_task", &llm.Call{Arguments: id}); r.Error {
		t.Errorf("get_task = %s", text(r))
	}
}
