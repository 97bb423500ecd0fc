package reading_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/push"
)

// streamless is an agent whose card promises streams, and which has no route or method for them.
type streamless struct {
	*far

	refuse func(w http.ResponseWriter, body []byte)

	mu sync.Mutex // guards the fields below
	// streams and messages count the messages that were sent to be streamed, and to be answered at once.
	streams, messages int
}

func (s *streamless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	sends := bytes.Contains(body, []byte(`"messageId"`))
	streams := bytes.Contains(body, []byte("SendStreamingMessage")) || bytes.Contains(body, []byte("message/stream")) || strings.HasSuffix(r.URL.Path, "message:stream")
	s.mu.Lock()
	switch {
	case sends && streams:
		s.streams++
	case sends:
		s.messages++
	}
	s.mu.Unlock()
	if streams {
		s.refuse(w, body)
		return
	}
	s.far.ServeHTTP(w, r)
}

// TestPeerWithoutStreams sends messages to an agent whose card promises streams that it does not have. Each
// message is processed once, and asked to be streamed at most once.
func TestPeerWithoutStreams(t *testing.T) {
	t.Parallel()
	status := func(code int) func(http.ResponseWriter, []byte) {
		return func(w http.ResponseWriter, _ []byte) { http.Error(w, "no such page", code) }
	}
	for _, dialect := range dialects {
		for name, refuse := range map[string]func(http.ResponseWriter, []byte){
			"404": status(http.StatusNotFound), "405": status(http.StatusMethodNotAllowed), "501": status(http.StatusNotImplemented),
			"no such method": func(w http.ResponseWriter, _ []byte) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`)
			},
			"unsupported": func(w http.ResponseWriter, _ []byte) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32004,"message":"This operation is not supported"}}`)
			},
		} {
			if strings.HasSuffix(dialect, "HTTP+JSON") && !strings.HasPrefix(name, "4") && name != "501" {
				continue
			}
			t.Run(dialect+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := &streamless{far: &far{dialect: dialect, way: "stream", artifacts: []string{`{"artifactId":"a","parts":[{"text":"fine"}]}`}}, refuse: refuse}
				front := httptest.NewServer(s)
				t.Cleanup(front.Close)
				s.url = front.URL
				hub := &parley.Hub{Push: push.Options{Off: true}}
				hub.Handle(&a2a.AgentCard{Name: "far"}, &remote.Agent{URL: s.url})
				n := serve(t, hub)
				for range 2 {
					// far answers a message that is not to be streamed with the whole task.
					if got := n.send(t); got.Status.State != "TASK_STATE_COMPLETED" || got.parts() != `[{"text":"fine"}]` {
						t.Errorf("the task is %s %q with %s", got.Status.State, got.says(), got.parts())
					}
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.messages != 2 || s.streams > 2 {
					t.Errorf("two messages were sent %d times to be streamed, and %d times to be answered", s.streams, s.messages)
				}
			})
		}
	}
}
