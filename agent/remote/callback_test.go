package remote_test

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/task"
)

// wired is a pair whose peer has webhooks and no streams.
func wired(t *testing.T, x a2asrv.AgentExecutor) (*pair, *httptest.Server, *requests) {
	t.Helper()
	seen := &requests{came: make(chan struct{})}
	calls := &remote.Callbacks{Key: []byte(rand.Text())}
	hook := httptest.NewServer(seen.wrap(calls))
	t.Cleanup(hook.Close)
	calls.URL = hook.URL + remote.CallbackPath
	p := &pair{peer: startHub(t, map[string]a2asrv.AgentExecutor{"worker": x}, nil)}
	p.agent = &remote.Agent{URL: p.peer.url(), NoStreaming: true, Callbacks: calls}
	t.Cleanup(func() { p.agent.Close() })
	p.hub = startHub(t, map[string]a2asrv.AgentExecutor{"far": p.agent}, nil)
	return p, hook, seen
}

// requests records the requests that a handler got.
type requests struct {
	came chan struct{} // closed with the first
	mu   sync.Mutex    // guards the field below
	all  []*http.Request
}

func (s *requests) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if s.all = append(s.all, r); len(s.all) == 1 {
			close(s.came)
		}
		s.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// last waits for the first request: the result of the task may be known before it arrives.
func (s *requests) last(t *testing.T) *http.Request {
	t.Helper()
	select {
	case <-s.came:
	case <-time.After(time.Minute):
		t.Fatal("the peer has reported nothing")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[len(s.all)-1]
}

// TestCallbacks checks that callbacks end the wait, which would be an hour without them.
func TestCallbacks(t *testing.T) {
	t.Parallel()
	turn := make(chan struct{}, 3)
	p, hook, seen := wired(t, counting(turn))
	p.agent.Poll = time.Hour
	id := p.hub.send(now(newSend("a b c"))).Head.ID
	turns(turn, 1)
	p.hub.awaitWords(id, 1)
	token := seen.last(t).Header.Get("Authorization")
	at := hook.URL + seen.last(t).URL.Path
	for _, tt := range []struct {
		name, url, header, value, body string
		want                           int
	}{
		{"v1.0", at, "Authorization", token, `{"statusUpdate":{"taskId":"x","status":{"state":"TASK_STATE_WORKING"}}}`, 204},
		{"v0.3", at, "X-A2A-Notification-Token", strings.TrimPrefix(token, "Bearer "), `{"kind":"task","id":"x","status":{"state":"working"}}`, 204},
		{"derived", at, "A2A-Notification-Token", strings.TrimPrefix(token, "Bearer "), `{"id":"x","status":{"state":"input_required"}}`, 204},
		{"gateway", at, "authorization", "bearer " + strings.TrimPrefix(token, "Bearer "), `{"taskId":"x","state":"Working"}`, 204},
		{"no token", at, "X", "", `{}`, 401},
		{"another token", at, "Authorization", token + "x", `{}`, 401},
		{"another task", hook.URL + remote.CallbackPath + "nobody", "Authorization", token, `{}`, 404},
		{"no object", at, "Authorization", token, `[]`, 400},
		{"no JSON", at, "Authorization", token, `{`, 400},
		{"too large", at, "Authorization", token, `{"a":"` + strings.Repeat("x", 11<<20) + `"}`, 413},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tt.url, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(tt.header, tt.value)
		resp, err := hook.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("%s: status %d, want %d", tt.name, resp.StatusCode, tt.want)
		}
	}
	p.hub.restart() // the address and the token stay valid
	turns(turn, 2)
	p.hub.wait(id, task.Completed)
	if got := strings.Join(p.hub.chunks(id), ""); got != "a b c" {
		t.Errorf("the answer is %q", got)
	}
	resp, err := hook.Client().Get(at)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET = %d, want 405", resp.StatusCode)
	}
}

// TestCallbacksAreRefused sends to a peer that may not call back.
func TestCallbacksAreRefused(t *testing.T) {
	t.Parallel()
	calls := &remote.Callbacks{Key: []byte("k"), URL: "http://127.0.0.1:1" + remote.CallbackPath}
	peer := startHub(t, map[string]a2asrv.AgentExecutor{"worker": counting(nil)}, func(h *parley.Hub) { h.Push.Allow = nil })
	a := &remote.Agent{URL: peer.url(), NoStreaming: true, Callbacks: calls, Poll: 20 * time.Millisecond}
	t.Cleanup(func() { a.Close() })
	h := startHub(t, map[string]a2asrv.AgentExecutor{"far": a}, nil)
	got := h.send(newSend("a b"))
	if got.Head.State != task.Completed {
		t.Errorf("the task is %s", describe(got))
	}
}
