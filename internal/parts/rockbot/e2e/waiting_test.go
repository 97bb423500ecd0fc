package rockbot_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// waits is the hub's log line about a message that waits for its agent.
const waits = "message waits until its agent is reachable"

// knowing starts a hub with FarAgent at an address in its list; more are further members of its
// entry.
func knowing(t *testing.T, url, more string) (*hubtest.Hub, *caller) {
	t.Helper()
	h := hubtest.New(t, hubtest.Options{Config: fmt.Sprintf("bus: {url: \"off\"}\nauth: {api_keys: {%s: {agent_id: alice}}}\n", aliceKey)})
	if err := os.MkdirAll(h.Data(), 0o700); err != nil {
		t.Fatal(err)
	}
	entry := fmt.Sprintf(`[{"agentName": "FarAgent", "url": %q%s}]`, url, more)
	if err := os.WriteFile(filepath.Join(h.Data(), "well-known-agents.json"), []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	return h, &caller{t, h, aliceKey}
}

// killed kills a hub and starts it again.
func killed(t *testing.T, h *hubtest.Hub) {
	t.Helper()
	h.Kill()
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
}

// TestWaitsAcrossKills: a message that waits for its agent continues to wait after the hub was
// killed and started again, and is performed once.
func TestWaitsAcrossKills(t *testing.T) {
	t.Parallel()
	const skills = `, "skills": [{"id": "shout", "name": "Shout", "description": "Shouts."}]`
	for name, tt := range map[string]struct {
		more string
		// before is the number of messages that the agent has performed before it stops.
		before int
	}{
		"never seen":   {"", 0},
		"seen before":  {"", 1},
		"pinned":       {skills, 0},
		"pinned, seen": {skills, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			far := hubtest.New(t, hubtest.Options{Config: "bus: {url: \"off\"}\nagents: [{name: shout, command: tr a-z A-Z}]\n"})
			near, alice := knowing(t, far.URL(), tt.more)
			if tt.before > 0 {
				if err := far.Start(); err != nil {
					t.Fatal(err)
				}
				alice.wait("faragent", alice.text("faragent", "first", "hello").ID, "TASK_STATE_COMPLETED")
				far.Kill()
			}
			id := alice.text("faragent", "second", "are you there").ID
			for range 2 {
				if err := near.Process().Await(within(t), waits); err != nil {
					t.Fatal(err)
				}
				killed(t, near)
			}
			if err := far.Start(); err != nil {
				t.Fatal(err)
			}
			if done := alice.wait("faragent", id, "TASK_STATE_COMPLETED"); !strings.Contains(string(done.Artifacts), "ARE YOU THERE") {
				t.Errorf("completed with %s", done.Artifacts)
			}
			var there struct{ Tasks []taskOf }
			if err := (&caller{t, far, ""}).rpc("shout", "ListTasks", "{}", &there); err != nil {
				t.Fatal(err)
			}
			if len(there.Tasks) != tt.before+1 {
				t.Errorf("the agent has performed %d tasks, want %d", len(there.Tasks), tt.before+1)
			}
		})
	}
}

// silent is an HTTP agent that receives messages and answers none.
type silent struct {
	received atomic.Int32
	first    chan struct{} // closed when the first message arrives
}

// ServeHTTP implements http.Handler.
func (s *silent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call struct {
		ID     json.RawMessage
		Method string
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &call) != nil {
		http.NotFound(w, r)
		return
	}
	if !strings.HasPrefix(strings.ToLower(call.Method), "message/") && !strings.HasPrefix(call.Method, "Send") {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, call.ID)
		return
	}
	if s.received.Add(1) == 1 {
		close(s.first)
	}
	<-r.Context().Done()
}

// TestSentAfterWaiting: a message that has waited and was sent is not sent again when the hub
// is killed before the agent answers.
func TestSentAfterWaiting(t *testing.T) {
	t.Parallel()
	addr := hubtest.Addr(t)
	near, alice := knowing(t, "http://"+addr, `, "skills": [{"id": "s", "name": "S", "description": "Works."}]`)
	id := alice.text("faragent", "m", "work").ID
	if err := near.Process().Await(within(t), waits); err != nil {
		t.Fatal(err)
	}
	killed(t, near) // so that the checkpoint belongs to an earlier process
	agent := &silent{first: make(chan struct{})}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: agent, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	select {
	case <-agent.first:
	case <-within(t).Done():
		t.Fatal("the message is not sent")
	}
	killed(t, near)
	failed := alice.wait("faragent", id, "TASK_STATE_FAILED")
	if !strings.Contains(string(failed.Status.Message), "may or may not have accepted the") {
		t.Errorf("failed with %s", failed.Status.Message)
	}
	if n := agent.received.Load(); n != 1 {
		t.Errorf("the agent has received the message %d times", n)
	}
}
