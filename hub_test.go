package parley_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served is a hub on a free loopback port.
type served struct {
	t    *testing.T
	url  string
	stop func()
}

func serve(t *testing.T, hub *parley.Hub) *served {
	t.Helper()
	url, stop := hubtest.Run(t, hub)
	return &served{t, url, stop}
}

// call sends a request as who and returns the status and the body of the answer.
func (s *served) call(method, path, who, body string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("X-Who", who)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func (s *served) send(path, who, text, extra string) *a2a.Task {
	s.t.Helper()
	quoted, _ := json.Marshal(text)
	body := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":` + string(quoted) + `}]` + extra + `}}`
	code, answer := s.call(http.MethodPost, path, who, body)
	var got struct{ Task *a2a.Task }
	if err := json.Unmarshal([]byte(answer), &got); code != http.StatusOK || err != nil || got.Task == nil {
		s.t.Fatalf("send %q = %d %s, %v", text, code, answer, err)
	}
	return got.Task
}

// who identifies callers by a header.
var who = auth.Func(func(_ context.Context, r *auth.Request) (*auth.Principal, error) {
	if v := r.Header("X-Who"); len(v) == 1 && v[0] != "" {
		return &auth.Principal{ID: v[0]}, nil
	}
	return nil, auth.ErrUnauthenticated
})

func withBuiltin(hub *parley.Hub) *parley.Hub {
	for _, a := range builtin.Agents() {
		hub.Handle(a.Card, a.Executor)
	}
	return hub
}

func TestTasksBelongToTheirCaller(t *testing.T) {
	t.Parallel()
	s := serve(t, withBuiltin(&parley.Hub{Auth: who}))
	const secret = "conversation-of-alice"
	task := s.send("/v1/a2a/message:send", "alice", "hello", `,"contextId":"`+secret+`"`)
	if task.ContextID != secret {
		t.Errorf("contextId = %q, want the caller's kept verbatim", task.ContextID)
	}
	if code, _ := s.call(http.MethodGet, "/v1/a2a/tasks/"+string(task.ID), "alice", ""); code != http.StatusOK {
		t.Errorf("alice gets %d for her own task", code)
	}
	missing, missingBody := s.call(http.MethodGet, "/v1/a2a/tasks/nowhere", "bob", "")
	foreign, foreignBody := s.call(http.MethodGet, "/v1/a2a/tasks/"+string(task.ID), "bob", "")
	if missing != http.StatusNotFound || foreign != missing || !sameBut(foreignBody, missingBody, string(task.ID), "nowhere") {
		t.Errorf("bob gets %d %s for alice's task, and %d %s for none", foreign, foreignBody, missing, missingBody)
	}
	if _, list := s.call(http.MethodGet, "/v1/a2a/tasks?contextId="+secret, "bob", ""); !strings.Contains(list, `"totalSize":0`) {
		t.Errorf("bob lists %s in alice's context", list)
	}
	if bobs := s.send("/v1/a2a/message:send", "bob", "mine", `,"contextId":"`+secret+`"`); len(bobs.History) != 1 {
		t.Errorf("bob's task in a context of that name has history %+v", bobs.History)
	}
	if code, _ := s.call(http.MethodGet, "/v1/a2a/tasks", "", ""); code != http.StatusUnauthorized {
		t.Errorf("a caller without credentials gets %d, want 401", code)
	}
}

// sameBut reports whether a and b are equal without the requested ids.
func sameBut(a, b, idA, idB string) bool {
	return strings.ReplaceAll(a, idA, "") == strings.ReplaceAll(b, idB, "")
}

func TestReportHasTwoNamedArtifactsOneOfThemAnImage(t *testing.T) {
	t.Parallel()
	s := serve(t, withBuiltin(&parley.Hub{}))
	task := s.send("/v1/a2a/report/message:send", "", "figures", "")
	if len(task.Artifacts) != 2 {
		t.Fatalf("artifacts = %+v, want two", task.Artifacts)
	}
	png := []byte("\x89PNG\r\n\x1a\n")
	images := 0
	for _, a := range task.Artifacts {
		if a.Name == "" || a.Description == "" {
			t.Errorf("artifact %s has name %q and description %q, want both", a.ID, a.Name, a.Description)
		}
		if raw := a.Parts[0].Raw(); raw != nil {
			images++
			if !bytes.HasPrefix(raw, png) || a.Parts[0].MediaType != "image/png" {
				t.Errorf("raw part of type %q begins with %q", a.Parts[0].MediaType, raw[:min(8, len(raw))])
			}
			echoImage(t, s, raw)
		}
	}
	if images != 1 {
		t.Errorf("%d raw parts, want one", images)
	}
}

// echoImage sends an image and expects the same bytes in the answer.
func echoImage(t *testing.T, s *served, raw []byte) {
	t.Helper()
	body := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"` + base64.StdEncoding.EncodeToString(raw) +
		`","mediaType":"image/png","filename":"a.png"}]}}`
	_, answer := s.call(http.MethodPost, "/v1/a2a/echo/message:send", "", body)
	var got struct{ Task a2a.Task }
	if err := json.Unmarshal([]byte(answer), &got); err != nil || len(got.Task.Artifacts) != 1 {
		t.Fatalf("echo of an image = %s, %v", answer, err)
	}
	part := got.Task.Artifacts[0].Parts[0]
	if diff := cmp.Diff(raw, part.Raw()); diff != "" || part.Filename != "a.png" || part.MediaType != "image/png" {
		t.Errorf("image came back as %q %q, changed:\n%s", part.Filename, part.MediaType, diff)
	}
}

func TestServeDrains(t *testing.T) {
	t.Parallel()
	began, goOn := make(chan struct{}), make(chan struct{})
	hub := &parley.Hub{}
	hub.Handle(&a2a.AgentCard{Name: "Late"}, late{began, goOn})
	ctx, cancel := context.WithCancel(t.Context())
	l, ended := hubtest.Listen(t), make(chan error, 1)
	go func() { ended <- hub.Serve(ctx, l) }()
	s := &served{t, "http://" + l.Addr().String(), cancel}
	answer := make(chan string, 1)
	go func() {
		_, body := s.call(http.MethodPost, "/v1/a2a/message:send", "", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`)
		answer <- body
	}()
	<-began
	s.stop()
	close(goOn)
	if got := <-answer; !strings.Contains(got, "TASK_STATE_COMPLETED") {
		t.Errorf("answer while draining = %s, want the completed task", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve = %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// late completes after goOn is closed.
type late struct {
	began chan<- struct{}
	goOn  <-chan struct{}
}

func (l late) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		close(l.began)
		<-l.goOn
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil), nil)
	}
}

func (l late) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		addr string
		hub  parley.Hub
		ok   bool
	}{
		{addr: "127.0.0.1:0", ok: true},
		{addr: "[::1]:0", ok: true},
		{addr: "localhost:0", ok: true},
		{addr: ":0"},
		{addr: "0.0.0.0:0"},
		{addr: "192.0.2.1:0"},
		{addr: "hub.example:0"},
		{addr: ":0", hub: parley.Hub{Auth: auth.Anyone()}, ok: true},
		{addr: ":0", hub: parley.Hub{Auth: who}, ok: true},
	}
	for i := range tests {
		tt := &tests[i]
		if err := tt.hub.CheckAddr(tt.addr); (err == nil) != tt.ok || err != nil && !errors.Is(err, parley.ErrAnonymous) {
			t.Errorf("CheckAddr(%q) = %v, want ok %v", tt.addr, err, tt.ok)
		}
	}
}

func TestHandlePanicsOnMistakes(t *testing.T) {
	t.Parallel()
	hub := &parley.Hub{}
	hub.Handle(card, shout{})
	for name, f := range map[string]func(){
		"no card":     func() { hub.Handle(nil, shout{}) },
		"no executor": func() { hub.Handle(card, nil) },
		"no name":     func() { hub.Handle(&a2a.AgentCard{Name: "!?"}, shout{}) },
		"twice":       func() { hub.Handle(card, shout{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: Handle did not panic", name)
				}
			}()
			f()
		}()
	}
}

func TestServeReportsABrokenListener(t *testing.T) {
	t.Parallel()
	hub := &parley.Hub{Limits: parley.Limits{DrainTimeout: time.Millisecond}}
	hub.Handle(card, shout{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := hub.Serve(t.Context(), l); err == nil || !strings.Contains(err.Error(), "serve") {
		t.Errorf("Serve on a closed listener = %v", err)
	}
}

func TestServeRefusesAListenerThatOthersReach(t *testing.T) {
	t.Parallel()
	hub := &parley.Hub{}
	hub.Handle(card, shout{})
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := hub.Serve(t.Context(), l); !errors.Is(err, parley.ErrAnonymous) {
		t.Errorf("Serve on all addresses = %v, want ErrAnonymous", err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is still open")
	}
}

func TestFieldsMayBeSetAfterHandle(t *testing.T) {
	t.Parallel()
	hub := &parley.Hub{}
	hub.Handle(card, shout{})
	hub.Limits.Body = 64
	s := serve(t, hub)
	long := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"` + strings.Repeat("x", 100) + `"}]}}`
	if code, body := s.call(http.MethodPost, "/v1/a2a/message:send", "", long); code != http.StatusRequestEntityTooLarge {
		t.Errorf("long body = %d %s, want 413", code, body)
	}
	hub.Handle(&a2a.AgentCard{Name: "Second"}, shout{})
	if code, body := s.call(http.MethodGet, "/a2a/second/.well-known/agent-card.json", "", ""); code != http.StatusOK {
		t.Errorf("card of an agent that came later = %d %s", code, body)
	}
}
