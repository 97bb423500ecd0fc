package peer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

const (
	rpc  = a2a.TransportProtocolJSONRPC
	rest = a2a.TransportProtocolHTTPJSON
)

// at returns a peer with one interface.
func at(t *testing.T, url string, binding a2a.TransportProtocol, version a2a.ProtocolVersion, o peer.Options) *peer.Peer {
	t.Helper()
	p, err := peer.New(&card.Card{A2A: &a2a.AgentCard{
		Name: "scripted", Capabilities: a2a.AgentCapabilities{Streaming: true},
		SupportedInterfaces: []*a2a.AgentInterface{{URL: url, ProtocolBinding: binding, ProtocolVersion: version}},
	}}, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

func respondWith(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// TestHostilePeers checks that misbehaving peers get precise errors, and that no call outlives
// its deadline.
func TestHostilePeers(t *testing.T) {
	t.Parallel()
	const working = `data: {"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}` + "\n\n"
	events := func(frames ...string) http.HandlerFunc {
		return respondWith(200, "text/event-stream", working+strings.Join(frames, ""))
	}
	hang := func(first string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			if first != "" {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, first)
				http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
		}
	}
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, working)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, ": still here\n\n"); err != nil {
				return
			}
			http.NewResponseController(w).Flush()
		}
	}
	line := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: ")
		for {
			if _, err := io.WriteString(w, strings.Repeat("x", 32<<10)); err != nil {
				return
			}
		}
	}
	reset := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, working+`data: {"statusUp`)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	tests := map[string]struct {
		handler http.HandlerFunc
		is      error
		says    string
	}{
		"a web page":       {respondWith(200, "text/html", "<html>sorry</html>"), a2a.ErrInvalidAgentResponse, "answered with a web page"},
		"nothing":          {respondWith(200, "application/json", ""), a2a.ErrInvalidAgentResponse, "answered with nothing"},
		"garbage":          {respondWith(200, "application/json", `{"task":`), a2a.ErrInvalidAgentResponse, "unexpected end"},
		"no answer":        {respondWith(200, "application/json", `{"ok":true}`), a2a.ErrInvalidAgentResponse, "is not a task, a message or an event"},
		"an unknown state": {events(`data: {"statusUpdate":{"taskId":"t","status":{"state":"EXPLODED"}}}` + "\n\n"), a2a.ErrInvalidAgentResponse, `"EXPLODED" is not a state`},
		"another task":     {events(`data: {"statusUpdate":{"taskId":"u","status":{"state":"TASK_STATE_COMPLETED"}}}` + "\n\n"), a2a.ErrInvalidAgentResponse, "an event of task u in the stream of task t"},
		"an endless line":  {line, peer.ErrTooLarge, "more than 65536 bytes"},
		"an endless event": {events("data: " + strings.Repeat("x\ndata: ", 40<<10)), peer.ErrTooLarge, "more than 65536 bytes"},
		"too much":         {respondWith(200, "application/json", `"`+strings.Repeat("x", 300<<10)+`"`), peer.ErrTooLarge, "more than 262144 bytes"},
		"a hang":           {hang(""), context.DeadlineExceeded, "no answer within 300ms"},
		"a silent stream":  {hang(working), context.DeadlineExceeded, "no answer within 300ms"},
		"endless comments": {endless, context.DeadlineExceeded, "no answer within 300ms"},
		"a reset":          {reset, context.DeadlineExceeded, "no answer within 300ms"},
		"redirects":        {http.RedirectHandler("http://127.0.0.1:1/", http.StatusTemporaryRedirect).ServeHTTP, nil, "refuse redirect"},
		"an error page":    {respondWith(500, "text/html", "<html>"), nil, "HTTP 500 Internal Server Error"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deadline := time.Minute
			if errors.Is(tt.is, context.DeadlineExceeded) {
				deadline = 300 * time.Millisecond
			}
			p := at(t, serve(t, tt.handler), rest, "1.0", peer.Options{
				Deadline: deadline, MaxEvent: 64 << 10, MaxBody: 256 << 10, Detach: true, Retries: -1, BreakAfter: -1,
			})
			var last error
			for _, err := range p.Run(t.Context(), messageOf("x")) {
				last = err
			}
			if last == nil || tt.is != nil && !errors.Is(last, tt.is) || !strings.Contains(last.Error(), tt.says) {
				t.Errorf("Run() ends with %v, want %v that says %q", last, tt.is, tt.says)
			}
		})
	}
}

// TestVersionOfTheCardIsWrong checks that a wrong version in the card is corrected, and logged
// once.
func TestVersionOfTheCardIsWrong(t *testing.T) {
	t.Parallel()
	const task = `{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"}}`
	var asked []string
	old := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		if !strings.Contains(string(body), `"message/send"`) {
			respondWith(200, "application/json", `{"jsonrpc":"2.0","id":"1","error":{"code":-32601,"message":"Method not found"}}`)(w, r)
			return
		}
		respondWith(200, "application/json", `{"jsonrpc":"2.0","id":"1","result":`+task+`}`)(w, r)
	}
	var log strings.Builder
	p := at(t, serve(t, old), rpc, "1.0", peer.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 2 {
		e, err := p.Send(t.Context(), messageOf("x"))
		if err != nil || e.State != a2a.TaskStateCompleted {
			t.Fatalf("Send() = %s, %v", e.JSON, err)
		}
	}
	if len(asked) != 3 || !strings.Contains(asked[0], "SendMessage") || !strings.Contains(asked[1], `"kind":"message"`) {
		t.Errorf("asked %q, want v1.0 once and v0.3 twice", asked)
	}
	if n := strings.Count(log.String(), "another dialect"); n != 1 || !strings.Contains(log.String(), "spoken=v0.3") {
		t.Errorf("the log says it %d times: %s", n, &log)
	}
	rests := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/message:send" {
			http.NotFound(w, r)
			return
		}
		respondWith(200, "application/json", `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELLED"}}}`)(w, r)
	}
	if e, err := at(t, serve(t, rests), rest, "1.0", peer.Options{}).Send(t.Context(), messageOf("x")); err != nil || e.State != a2a.TaskStateCanceled {
		t.Errorf("Send() over HTTP+JSON = %s, %v", e.JSON, err)
	}
}

// TestPin checks that the configured URL is called, whatever address the card names.
func TestPin(t *testing.T) {
	t.Parallel()
	tests := []struct {
		configured, card, want string
		follow                 bool
	}{
		{"http://10.1.1.1:80/a2a", "http://localhost:7870/a2a", "http://10.1.1.1:80/a2a", false},
		{"http://10.1.1.1/agents/bob", "http://container:1/rpc", "http://10.1.1.1/agents/bob", false},
		{"http://10.1.1.1", "http://container:1/rpc", "http://10.1.1.1/rpc", false},
		{"http://10.1.1.1/card.json", "http://container:1/rpc", "http://10.1.1.1/rpc", false},
		{"http://10.1.1.1/x", "http://10.1.1.1/rpc", "http://10.1.1.1/rpc", false},
		{"http://10.1.1.1/x", "http://container:1/rpc", "http://container:1/rpc", true},
	}
	for _, tt := range tests {
		p := at(t, tt.card, rpc, "1.0", peer.Options{URL: tt.configured, FollowCard: tt.follow})
		if got := p.Interface().URL; got != tt.want {
			t.Errorf("configured %s, card %s, follow %t: calls %s, want %s", tt.configured, tt.card, tt.follow, got, tt.want)
		}
	}
	_, err := peer.New(&card.Card{A2A: &a2a.AgentCard{SupportedInterfaces: []*a2a.AgentInterface{
		a2a.NewAgentInterface("http://10.1.1.1/", rpc),
	}}}, &peer.Options{URL: "https://10.1.1.1", FollowCard: true})
	if !errors.Is(err, peer.ErrNoInterface) {
		t.Errorf("New() = %v, want no interface in the clear", err)
	}
}

// TestSubscriptionWithoutAStream checks that an agent that answers a subscription like a get is
// asked again, a limited number of times.
func TestSubscriptionWithoutAStream(t *testing.T) {
	t.Parallel()
	n := 0
	h := func(w http.ResponseWriter, r *http.Request) {
		state := "TASK_STATE_WORKING"
		if n++; n == 3 {
			state = "TASK_STATE_COMPLETED"
		}
		respondWith(200, "application/json", fmt.Sprintf(`{"id":"t","contextId":"c","status":{"state":%q}}`, state))(w, r)
	}
	var last peer.Event
	for e, err := range at(t, serve(t, h), rest, "1.0", peer.Options{}).Follow(t.Context(), transport.Position{Task: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		last = e
	}
	if last.State != a2a.TaskStateCompleted || n != 3 {
		t.Errorf("Follow() ends with %s after %d requests", last.JSON, n)
	}
}

func TestPollsWhereThereAreNoStreams(t *testing.T) {
	t.Parallel()
	gets := 0
	h := func(w http.ResponseWriter, r *http.Request) {
		state := "TASK_STATE_WORKING"
		if strings.HasSuffix(r.URL.Path, "/tasks/t") {
			if gets++; gets == 3 {
				state = "TASK_STATE_COMPLETED"
			}
		}
		task := fmt.Sprintf(`{"id":"t","contextId":"c","status":{"state":%q}}`, state)
		switch {
		case strings.HasSuffix(r.URL.Path, "message:stream"), strings.HasSuffix(r.URL.Path, ":subscribe"):
			http.Error(w, "", http.StatusNotImplemented)
		case strings.HasSuffix(r.URL.Path, "message:send"):
			respondWith(200, "application/json", `{"task":`+task+`}`)(w, r)
		default:
			respondWith(200, "application/json", task)(w, r)
		}
	}
	p := at(t, serve(t, h), rest, "1.0", peer.Options{Poll: peer.Poll{Interval: time.Millisecond}})
	all := collect(t, p, messageOf("x"))
	if len(all) != 2 || all[0].State != a2a.TaskStateWorking || all[1].State != a2a.TaskStateCompleted || gets != 3 {
		t.Errorf("Run() = %+v after %d gets, want the task when it has changed", all, gets)
	}
}
