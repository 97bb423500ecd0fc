package mock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/testing/dialecttest"
)

// ask sends a message to the first agent over HTTP+JSON.
func ask(s *Server, more, text string) string {
	return exchange(s, fmt.Sprintf("POST /v1/a2a/message:send\n\n"+
		`{"message":{"messageId":"m","role":"ROLE_USER",%s"parts":[{"text":%q}]}%s}`, more, text, ""))
}

func mustContain(t *testing.T, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %q in it", got, want)
		}
	}
}

// A task that waits for authorization continues by itself after a delay, or immediately when a
// message arrives.
func TestAuthorizeForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := served(t, rules("{steps: [{authorize: Sign in., for: 1h}, {complete: 'got {{text}}'}]}"))
		begun := time.Now()
		mustContain(t, ask(s, "", "one"), "TASK_STATE_AUTH_REQUIRED", "Sign in.")
		got := exchange(s, "POST /v1/a2a/tasks/mock-task-1:subscribe\n\n")
		mustContain(t, got, "TASK_STATE_AUTH_REQUIRED", "TASK_STATE_WORKING", "got one")
		if waited := time.Since(begun); waited != time.Hour {
			t.Errorf("the task went on after %v, want an hour", waited)
		}
		begun = time.Now()
		mustContain(t, ask(s, "", "two"), "TASK_STATE_AUTH_REQUIRED")
		mustContain(t, ask(s, `"taskId":"mock-task-2",`, "here"), "TASK_STATE_COMPLETED", "got here")
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("the message was waited for %v, want no time", waited)
		}
	})
}

// Delays have the durations of the script.
func TestDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := served(t, `
a2a_agents:
  - name: a
    latency: 1s
    responses:
      - match: {equals: chunks}
        artifacts: [{chunks: [a, b, c], every: 10s}]
      - match: {equals: rule}
        latency: 2s
        response: fine
      - steps: [{wait: 1m}]
    operations: {GetTask: {latency: 3s}}
`)
		for _, tt := range []struct {
			request string
			want    time.Duration
		}{
			{"POST /v1/a2a/message:send\n\n" + sendText("chunks"), 21 * time.Second},
			{"POST /v1/a2a/message:send\n\n" + sendText("rule"), 3 * time.Second},
			{"POST /v1/a2a/message:send\n\n" + sendText("wait"), 61 * time.Second},
			{"GET /v1/a2a/tasks/mock-task-1\n\n", 4 * time.Second},
			{"GET /.well-known/agent-card.json\n\n", time.Second},
		} {
			begun := time.Now()
			got := exchange(s, tt.request)
			if waited := time.Since(begun); waited != tt.want || !strings.HasPrefix(got, "200\n") {
				t.Errorf("%.60q took %v, want %v: %s", tt.request, waited, tt.want, got)
			}
		}
	})
}

func sendText(text string) string {
	return fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":%q}]}}`, text)
}

// Cancel ends a script and notifies waiting callers.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := served(t, rules("{steps: [{wait: 10h}, {artifact: {chunks: [a, b], every: 1h}}]}"))
		var wg sync.WaitGroup
		var blocked, streamed string
		wg.Go(func() { blocked = exchange(s, "POST /v1/a2a/message:send\n\n"+sendText("x")) })
		synctest.Wait()
		wg.Go(func() { streamed = exchange(s, "GET /v1/a2a/tasks/mock-task-1:subscribe\n\n") })
		synctest.Wait()
		mustContain(t, exchange(s, "POST /v1/a2a/message:send\n\n"+`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"returnImmediately":true}}`),
			"TASK_STATE_SUBMITTED")
		synctest.Wait() // the script is running
		mustContain(t, exchange(s, "POST /v1/a2a/tasks/mock-task-1:cancel\n\n"), "200\n", "TASK_STATE_CANCELED")
		wg.Wait()
		mustContain(t, blocked, "TASK_STATE_CANCELED")
		mustContain(t, streamed, `"task":`, "TASK_STATE_CANCELED")
		mustContain(t, exchange(s, "POST /v1/a2a/tasks/mock-task-1:cancel\n\n"), "TASK_NOT_CANCELABLE")
		mustContain(t, exchange(s, "POST /v1/a2a/tasks/unknown:cancel\n\n"), "TASK_NOT_FOUND")
		mustContain(t, exchange(s, "GET /v1/a2a/tasks?status=TASK_STATE_WORKING\n\n"), `"totalSize":1`)
	})
}

// A caller that disconnects does not change the task.
func TestCallerGoesAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := served(t, rules("{steps: [{wait: 1h}]}"))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/a2a/message:stream", strings.NewReader(sendText("x")))
		r.Header.Set("Content-Type", "application/json")
		ctx, cancel := s.bound(r.Context())
		var wg sync.WaitGroup
		wg.Go(func() { s.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx)) })
		synctest.Wait()
		cancel()
		wg.Wait()
		mustContain(t, exchange(s, "POST /v1/a2a/tasks/mock-task-1:subscribe\n\n"), "TASK_STATE_COMPLETED")
	})
}

// The memory of a mock is bounded; the oldest entries are dropped first.
func TestBounds(t *testing.T) {
	t.Parallel()
	s := served(t, rules("{match: {contains: ask}, ask: more}, {match: {equals: wait}, steps: [{wait: 1h}]}, {response: ok}"))
	first := ask(s, "", "ask")
	mustContain(t, first, "mock-task-1")
	mustContain(t, exchange(s, "POST /v1/a2a/message:send\n\n"+strings.Replace(sendText("wait"), `}]}}`, `}]},"configuration":{"returnImmediately":true}}`, 1)), "mock-task-2")
	for i := range maxTasks {
		ask(s, "", fmt.Sprint(i))
	}
	for _, id := range []string{"mock-task-1", "mock-task-2"} {
		mustContain(t, exchange(s, "GET /v1/a2a/tasks/"+id+"\n\n"), "TASK_NOT_FOUND")
	}
	s.state.mu.Lock()
	if len(s.state.tasks) != maxTasks || len(s.state.order) != maxTasks || len(s.state.turns) > maxContexts || len(s.state.contexts) > maxContexts {
		t.Errorf("%d tasks in %d places and %d contexts, want at most %d", len(s.state.tasks), len(s.state.order), len(s.state.turns), maxTasks)
	}
	s.state.mu.Unlock()
	ask(s, "", "ask")
	id := fmt.Sprintf(`"taskId":"mock-task-%d",`, maxTasks+3)
	for range maxMessages - 1 {
		mustContain(t, ask(s, id, "ask"), "TASK_STATE_INPUT_REQUIRED")
	}
	mustContain(t, ask(s, id, "ask"), "UNSUPPORTED_OPERATION", "100 messages")
	large := "POST /v1/a2a/message:send\n\n" + sendText(strings.Repeat("x", maxBody))
	mustContain(t, exchange(s, large), "413\n", "larger than")
}

func TestRecorderIsBounded(t *testing.T) {
	t.Parallel()
	r := newRecorder(nil)
	for range maxRequests + 10 {
		r.add(Request{})
	}
	if len(r.requests) != maxRequests || r.requests[0].Number != 11 {
		t.Errorf("%d requests from number %d, want %d from 11", len(r.requests), r.requests[0].Number, maxRequests)
	}
	r = newRecorder(nil)
	for range 5 {
		r.add(Request{Body: make([]byte, maxKept/2)})
	}
	if len(r.requests) != 2 || r.kept > maxKept {
		t.Errorf("%d requests with %d bytes, want 2", len(r.requests), r.kept)
	}
	s := served(t, rules("{response: ok}"))
	s.recorder = r
	if q, err := s.Wait(t.Context(), 1); err != nil || q.Number != 1 || q.Body != nil {
		t.Errorf("Wait(1) = %v, %v, want an empty request: it was forgotten", q, err)
	}
}

type brokenWriter struct{}

var errBroken = errors.New("the disk is full")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestRecordGoesToTheWriter(t *testing.T) {
	t.Parallel()
	c, err := Parse("m.yaml", []byte(rules("{response: ok}")))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, w := range []io.Writer{&b, brokenWriter{}} {
		s, err := New(c, Options{Record: w})
		if err != nil {
			t.Fatal(err)
		}
		ask(s, "", "hello")
		if exchange(s, "POST /a2a\nContent-Type: text/plain\n\nno json"); w != &b {
			if err := s.Close(); !errors.Is(err, errBroken) {
				t.Errorf("Close() = %v, want %v", err, errBroken)
			}
			continue
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"text":"hello"`) || !strings.Contains(lines[1], `"body":"no json"`) {
		t.Errorf("recorded %q, want two lines", lines)
	}
}

// The printed example works in every shape.
func TestExample(t *testing.T) {
	t.Parallel()
	for _, serve := range []string{"[rest]", "[jsonrpc]", "[v0.3]", "[" + dialecttest.Derived + "]", "[v0.3, " + dialecttest.Derived + "]"} {
		s := served(t, "a2a_agents: [{name: a, serve: "+serve+", responses: [{skill: sing, match: {contains: A song?}, response: ok}]}]")
		words := strings.SplitN(s.Example("http://mock.test"), " ", 3)
		path := strings.TrimPrefix(words[1], "http://mock.test")
		_, body, _ := strings.Cut(words[2], "-d '")
		version := ""
		if strings.Contains(words[2], "A2A-Version: 1.0") {
			version = "A2A-Version: 1.0\n"
		}
		got := exchange(s, "POST "+path+"\n"+version+"\n"+strings.TrimSuffix(body, "'"))
		mustContain(t, got, "200\n", `"text":"ok"`)
	}
}

// An unchanged card is not sent again.
func TestConditionalCard(t *testing.T) {
	t.Parallel()
	s := served(t, rules("{response: ok}"))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://mock.test/.well-known/agent-card.json", nil))
	tag := w.Header().Get("ETag")
	got := exchange(s, "GET /.well-known/agent-card.json\nIf-None-Match: "+tag+"\n\n")
	if tag == "" || got != "304\n" {
		t.Errorf("with tag %s: %q, want 304 and nothing else", tag, got)
	}
	mustContain(t, exchange(s, "GET /.well-known/agent-card.json\nIf-None-Match: \"other\"\n\n"), "200\n")
}

// Describe lists the served agents.
func TestDescribe(t *testing.T) {
	t.Parallel()
	s := served(t, "a2a_agents: [{name: a, responses: [{response: ok}]}, {name: b, serve: [rest]}]")
	want := "a at http://x/a2a/a (jsonrpc, rest, v0.3, " + dialecttest.Derived + "), rules: 1\nb at http://x/a2a/b (rest), rules: 0\n"
	if got := s.Describe("http://x"); got != want {
		t.Errorf("Describe() = %q, want %q", got, want)
	}
}
