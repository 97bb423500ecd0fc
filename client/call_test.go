package client_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// text joins the text parts of a task's artifacts.
func text(task *a2a.Task) string {
	var b strings.Builder
	for _, artifact := range task.Artifacts {
		for _, p := range artifact.Parts {
			b.WriteString(p.Text())
		}
	}
	return b.String()
}

func TestSend(t *testing.T) {
	t.Parallel()
	eachBinding(t, func(t *testing.T, c *client.Client) {
		res, err := c.Send(t.Context(), textRequest("echo one two"))
		if err != nil {
			t.Fatalf("Send() = %v", err)
		}
		task, ok := res.(*a2a.Task)
		if !ok {
			t.Fatalf("Send() = %T, want a task", res)
		}
		if task.Status.State != a2a.TaskStateCompleted || text(task) != "one two" {
			t.Errorf("Send() = %s %q, want completed %q", task.Status.State, text(task), "one two")
		}
		res, err = c.Send(t.Context(), textRequest("say hello"))
		if err != nil {
			t.Fatalf("Send() = %v", err)
		}
		if m, ok := res.(*a2a.Message); !ok || m.Parts[0].Text() != "hello" {
			t.Errorf("Send() = %v, want the message hello", res)
		}
	})
}

func TestStream(t *testing.T) {
	t.Parallel()
	eachBinding(t, func(t *testing.T, c *client.Client) {
		var fold client.Fold
		var kinds []string
		for event, err := range c.Stream(t.Context(), textRequest("echo one two")) {
			if err != nil {
				t.Fatalf("Stream() = %v", err)
			}
			kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", event), "*a2a."))
			fold.Apply(event)
		}
		want := []string{
			"Task", "TaskStatusUpdateEvent", "TaskArtifactUpdateEvent", "TaskArtifactUpdateEvent", "TaskStatusUpdateEvent",
		}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Errorf("Stream() kinds (-want +got):\n%s", diff)
		}
		stored, err := c.Get(t.Context(), &a2a.GetTaskRequest{ID: fold.Task.ID})
		if err != nil {
			t.Fatalf("Get() = %v", err)
		}
		if text(stored) != text(fold.Task) || stored.Status.State != fold.Task.Status.State {
			t.Errorf("fold is %s %q, the task is %s %q",
				fold.Task.Status.State, text(fold.Task), stored.Status.State, text(stored))
		}
	})
}

func TestStreamEndsWithQuestion(t *testing.T) {
	t.Parallel()
	eachBinding(t, func(t *testing.T, c *client.Client) {
		var fold client.Fold
		for event, err := range c.Stream(t.Context(), textRequest("ask")) {
			if err != nil {
				t.Fatalf("Stream() = %v", err)
			}
			fold.Apply(event)
		}
		if got := fold.Task.Status.State; got != a2a.TaskStateInputRequired {
			t.Errorf("state = %s, want input required", got)
		}
		answer := textRequest("echo that one")
		answer.Message.TaskID = fold.Task.ID
		res, err := c.Send(t.Context(), answer)
		if err != nil {
			t.Fatalf("Send(answer) = %v", err)
		}
		if got := res.TaskInfo().TaskID; got != fold.Task.ID {
			t.Errorf("answer went to task %s, want %s", got, fold.Task.ID)
		}
	})
}

func TestCancelAndSubscribe(t *testing.T) {
	t.Parallel()
	eachBinding(t, func(t *testing.T, c *client.Client) {
		next, stop := iter.Pull2(c.Stream(t.Context(), textRequest("wait")))
		defer stop()
		first, err, _ := next()
		if err != nil {
			t.Fatalf("Stream() = %v", err)
		}
		id := first.TaskInfo().TaskID
		watch, stopWatch := iter.Pull2(c.Subscribe(t.Context(), &a2a.SubscribeToTaskRequest{ID: id}))
		defer stopWatch()
		if _, err, _ := watch(); err != nil {
			t.Fatalf("Subscribe() = %v", err)
		}
		task, err := c.Cancel(t.Context(), &a2a.CancelTaskRequest{ID: id})
		if err != nil {
			t.Fatalf("Cancel() = %v", err)
		}
		if task.Status.State != a2a.TaskStateCanceled {
			t.Errorf("Cancel() = %s, want canceled", task.Status.State)
		}
		var last a2a.Event
		for {
			event, err, ok := watch()
			if !ok {
				break
			}
			if err != nil {
				t.Fatalf("Subscribe() = %v", err)
			}
			last = event
		}
		if e, ok := last.(*a2a.TaskStatusUpdateEvent); !ok || e.Status.State != a2a.TaskStateCanceled {
			t.Errorf("last event = %v, want canceled", last)
		}
	})
}

func TestErrorsKeepTheirReason(t *testing.T) {
	t.Parallel()
	eachBinding(t, func(t *testing.T, c *client.Client) {
		want := &client.Error{Code: -32001, Reason: "TASK_NOT_FOUND"}
		check := func(name string, err error) {
			var got *client.Error
			if !errors.As(err, &got) {
				t.Errorf("%s = %v, want a client.Error", name, err)
				return
			}
			if got.Code != want.Code || got.Reason != want.Reason || !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("%s = %+v, want %+v", name, got, want)
			}
		}
		_, err := c.Get(t.Context(), &a2a.GetTaskRequest{ID: "nothing"})
		check("Get", err)
		_, err = c.Cancel(t.Context(), &a2a.CancelTaskRequest{ID: "nothing"})
		check("Cancel", err)
		for _, err := range c.Subscribe(t.Context(), &a2a.SubscribeToTaskRequest{ID: "nothing"}) {
			check("Subscribe", err)
		}
	})
}

// serve answers every call with h, and the card with a card that lists the given
// bindings at the server's root.
func serve(t *testing.T, h http.HandlerFunc, bindings ...a2a.TransportProtocol) *httptest.Server {
	t.Helper()
	card := &a2a.AgentCard{Name: "scripted", Capabilities: a2a.AgentCapabilities{Streaming: true}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, ".well-known") {
			json.NewEncoder(w).Encode(card)
			return
		}
		h(w, r)
	}))
	t.Cleanup(srv.Close)
	for _, b := range bindings {
		card.SupportedInterfaces = append(card.SupportedInterfaces, a2a.NewAgentInterface(srv.URL, b))
	}
	return srv
}

func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		w.Write([]byte(body))
	}
}

const (
	rpc  = a2a.TransportProtocolJSONRPC
	rest = a2a.TransportProtocolHTTPJSON
)

func TestErrorBodies(t *testing.T) {
	t.Parallel()
	const info = `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"%s","domain":"a2a-protocol.org","metadata":{"k":"v"}}]`
	tests := []struct {
		name    string
		binding a2a.TransportProtocol
		handler http.HandlerFunc
		want    client.Error
	}{
		{
			"json-rpc error in place of a stream", rpc,
			answer(200, "application/json",
				`{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"no streams","data":`+fmt.Sprintf(info, "UNSUPPORTED_OPERATION")+`}}`),
			client.Error{
				Err: a2a.ErrUnsupportedOperation, Code: -32004, Reason: "UNSUPPORTED_OPERATION", Message: "no streams",
				Meta: map[string]string{"k": "v"}, Status: 200,
			},
		},
		{
			"json-rpc error with free data", rpc,
			answer(200, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad","data":{"a":1}}}`),
			client.Error{Err: a2a.ErrInvalidParams, Code: -32602, Reason: "INVALID_PARAMS", Message: "bad", Status: 200},
		},
		{
			"json-rpc error in a stream", rpc,
			answer(200, "text/event-stream",
				"data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"error\":{\"code\":-32603,\"message\":\"broke\"}}\n\n"),
			client.Error{Err: a2a.ErrInternalError, Code: -32603, Reason: "INTERNAL_ERROR", Message: "broke"},
		},
		{
			"json-rpc 401 with body", rpc,
			answer(401, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-31401,"message":"who are you"}}`),
			client.Error{Err: a2a.ErrUnauthenticated, Code: -31401, Reason: "UNAUTHENTICATED", Message: "who are you", Status: 401},
		},
		{
			"rest error as a2a+json", rest,
			answer(429, "application/a2a+json",
				`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slow down","details":`+fmt.Sprintf(info, "RESOURCE_EXHAUSTED")+`}}`),
			client.Error{
				Err: a2a.ErrServerError, Reason: "RESOURCE_EXHAUSTED", Message: "slow down",
				Meta: map[string]string{"k": "v"}, Status: 429,
			},
		},
		{
			"proxy page", rest, answer(502, "text/html", `<h1>bad gateway</h1>`),
			client.Error{Err: a2a.ErrServerError, Message: "HTTP 502 Bad Gateway", Status: 502},
		},
		{
			"403 without body", rpc, answer(403, "text/plain", ``),
			client.Error{Err: a2a.ErrUnauthorized, Message: "HTTP 403 Forbidden", Status: 403},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, serve(t, tt.handler, tt.binding).URL, client.Options{})
			var errs []error
			for event, err := range c.Stream(t.Context(), textRequest("x")) {
				if err == nil {
					t.Errorf("Stream() yields %v, want an error", event)
				}
				errs = append(errs, err)
			}
			var got *client.Error
			if len(errs) != 1 || !errors.As(errs[0], &got) {
				t.Fatalf("Stream() = %v, want one client.Error", errs)
			}
			if !errors.Is(got.Err, tt.want.Err) {
				t.Errorf("sentinel = %v, want %v", got.Err, tt.want.Err)
			}
			have := *got
			have.Err, tt.want.Err = nil, nil
			if diff := cmp.Diff(tt.want, have); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStreamOfAnAgentThatDoesNotStream(t *testing.T) {
	t.Parallel()
	task := "{\n \"task\": {\"id\":\"t\",\"contextId\":\"c\",\"status\":{\"state\":\"TASK_STATE_COMPLETED\"}}\n}"
	c := dial(t, serve(t, answer(200, "application/a2a+json", task), rest).URL, client.Options{})
	var got []a2a.TaskID
	for event, err := range c.Stream(t.Context(), textRequest("x")) {
		if err != nil {
			t.Fatalf("Stream() = %v", err)
		}
		got = append(got, event.TaskInfo().TaskID)
	}
	if !slices.Equal(got, []a2a.TaskID{"t"}) {
		t.Errorf("Stream() = %v, want the task once", got)
	}
}

func TestStreamThatIsCut(t *testing.T) {
	t.Parallel()
	const working = `data: {"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}` + "\n\n"
	abort := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write([]byte(working))
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	for name, h := range map[string]http.HandlerFunc{
		"ended": answer(200, "text/event-stream", working), "empty": answer(200, "text/event-stream", ""), "aborted": abort,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, serve(t, h, rest).URL, client.Options{})
			var last error
			for _, err := range c.Stream(t.Context(), textRequest("x")) {
				last = err
			}
			if !errors.Is(last, client.ErrCut) {
				t.Errorf("Stream() ends with %v, want ErrCut", last)
			}
		})
	}
}

func TestFallbackToAnotherBinding(t *testing.T) {
	t.Parallel()
	// A port without a listener.
	dead := "http://" + testenv.Addr(t)
	live := startSDK(t, nil, rest)
	card := &a2a.AgentCard{
		Name: "two", Capabilities: a2a.AgentCapabilities{Streaming: true},
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(dead, rpc), a2a.NewAgentInterface(live+"/rest", rest),
		},
	}
	c, err := client.New(card, client.Options{})
	if err != nil {
		t.Fatalf("New() = %v", err)
	}
	defer c.Close()
	for event, err := range c.Stream(t.Context(), textRequest("echo hi")) {
		if err != nil {
			t.Fatalf("Stream() = %v, %v", event, err)
		}
	}
	if got := c.Interface().ProtocolBinding; got != rest {
		t.Errorf("after the fallback the client calls %s first, want %s", got, rest)
	}
	if _, err := c.Send(t.Context(), textRequest("echo hi")); err != nil {
		t.Errorf("Send() = %v", err)
	}
	card.SupportedInterfaces = card.SupportedInterfaces[:1]
	alone, err := client.New(card, client.Options{})
	if err != nil {
		t.Fatalf("New() = %v", err)
	}
	if _, err := alone.Send(t.Context(), textRequest("x")); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("Send() = %v, want ErrUnreachable", err)
	}
	for _, err := range alone.Stream(t.Context(), textRequest("x")) {
		if !errors.Is(err, client.ErrUnreachable) {
			t.Errorf("Stream() = %v, want ErrUnreachable", err)
		}
	}
}

func TestPreference(t *testing.T) {
	t.Parallel()
	url := startSDK(t, nil, rpc, rest)
	if got := dial(t, url, client.Options{}).Interface().ProtocolBinding; got != rpc {
		t.Errorf("without preference: %s, want the card's first", got)
	}
	prefer := client.Options{Bindings: []a2a.TransportProtocol{rest}}
	if got := dial(t, url, prefer).Interface().ProtocolBinding; got != rest {
		t.Errorf("with preference: %s, want %s", got, rest)
	}
}

// TestTransportOfTheCaller uses a failing transport in place of gRPC without a server.
func TestTransportOfTheCaller(t *testing.T) {
	t.Parallel()
	card := &a2a.AgentCard{Name: "grpc", SupportedInterfaces: []*a2a.AgentInterface{
		a2a.NewAgentInterface("127.0.0.1:1", a2a.TransportProtocolGRPC),
	}}
	if _, err := client.New(card, client.Options{}); !errors.Is(err, client.ErrNoInterface) {
		t.Errorf("New() without the transport = %v, want ErrNoInterface", err)
	}
	refuse := func(context.Context, a2a.AgentInterface, transport.HeaderFunc, *tls.Config) (transport.Conn, error) {
		return nil, client.ErrUnreachable
	}
	c, err := client.New(card, client.Options{
		Transports: map[a2a.TransportProtocol]client.Transport{a2a.TransportProtocolGRPC: refuse},
	})
	if err != nil {
		t.Fatalf("New() = %v", err)
	}
	if _, err := c.Get(t.Context(), &a2a.GetTaskRequest{ID: "t"}); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("Get() = %v, want ErrUnreachable", err)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := make(map[string]http.Header)
	note := func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.URL.Path] = r.Header.Clone()
	}
	url := startSDK(t, note, rpc)
	c := dial(t, url, client.Options{Key: "secret", Header: http.Header{"X-Extra": {"1"}}})
	if _, err := c.Send(t.Context(), textRequest("echo hi")); err != nil {
		t.Fatalf("Send() = %v", err)
	}
	for _, path := range []string{"/.well-known/agent-card.json", "/rpc"} {
		for name, want := range map[string]string{"A2A-Version": "1.0", "Authorization": "Bearer secret", "X-Extra": "1"} {
			if got := seen[path].Get(name); got != want {
				t.Errorf("%s: header %s = %q, want %q", path, name, got, want)
			}
		}
	}
}

func TestKeyInTheHeaderThatTheCardNames(t *testing.T) {
	t.Parallel()
	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("X-API-Key")
		answer(200, "application/json", `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`)(w, r)
	}))
	t.Cleanup(srv.Close)
	c, err := client.New(&a2a.AgentCard{
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(srv.URL, rest)},
		SecuritySchemes: a2a.NamedSecuritySchemes{"key": a2a.APIKeySecurityScheme{
			Location: a2a.APIKeySecuritySchemeLocationHeader, Name: "X-API-Key",
		}},
	}, client.Options{Key: "secret"})
	if err != nil {
		t.Fatalf("New() = %v", err)
	}
	defer c.Close()
	if _, err := c.Get(t.Context(), &a2a.GetTaskRequest{ID: "t"}); err != nil {
		t.Fatalf("Get() = %v", err)
	}
	if got != "secret" {
		t.Errorf("X-API-Key = %q, want the key", got)
	}
}

func TestIDsInPaths(t *testing.T) {
	t.Parallel()
	var got string
	h := func(w http.ResponseWriter, r *http.Request) {
		got = r.URL.EscapedPath()
		id, _ := json.Marshal(strings.TrimPrefix(r.URL.Path, "/tasks/"))
		answer(200, "application/json", `{"id":`+string(id)+`,"contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`)(w, r)
	}
	c := dial(t, serve(t, h, rest).URL, client.Options{})
	for id, want := range map[a2a.TaskID]string{
		"plain": "/tasks/plain", "a/../b": "/tasks/a%2F..%2Fb", "a?b#c": "/tasks/a%3Fb%23c", "50%": "/tasks/50%25", "ü": "/tasks/%C3%BC",
	} {
		if _, err := c.Get(t.Context(), &a2a.GetTaskRequest{ID: id}); err != nil {
			t.Errorf("Get(%q) = %v", id, err)
		}
		if got != want {
			t.Errorf("Get(%q) asks for %s, want %s", id, got, want)
		}
	}
}

func TestListFollowsPages(t *testing.T) {
	t.Parallel()
	var queries []string
	h := func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.Query().Encode())
		next := map[string]string{"": "p2", "p2": ""}[r.URL.Query().Get("pageToken")]
		fmt.Fprintf(w, `{"tasks":[{"id":"t%d","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}],"nextPageToken":%q}`,
			len(queries), next)
	}
	c := dial(t, serve(t, h, rest).URL, client.Options{})
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var got []a2a.TaskID
	for task, err := range c.Tasks(t.Context(), &a2a.ListTasksRequest{StatusTimestampAfter: &since}) {
		if err != nil {
			t.Fatalf("Tasks() = %v", err)
		}
		got = append(got, task.ID)
	}
	if diff := cmp.Diff([]a2a.TaskID{"t1", "t2"}, got); diff != "" {
		t.Errorf("Tasks() (-want +got):\n%s", diff)
	}
	const after = "statusTimestampAfter=2026-01-02T03%3A04%3A05Z"
	if diff := cmp.Diff([]string{after, "pageToken=p2&" + after}, queries); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

func TestListStopsAtARepeatedPage(t *testing.T) {
	t.Parallel()
	h := answer(200, "application/json", `{"tasks":[],"nextPageToken":"again"}`)
	c := dial(t, serve(t, h, rest).URL, client.Options{})
	var last error
	for _, err := range c.Tasks(t.Context(), &a2a.ListTasksRequest{}) {
		last = err
	}
	if !errors.Is(last, a2a.ErrInvalidAgentResponse) {
		t.Errorf("Tasks() ends with %v, want ErrInvalidAgentResponse", last)
	}
}

func TestBoundedAnswer(t *testing.T) {
	t.Parallel()
	h := answer(200, "application/json", `{"id":"`+strings.Repeat("x", 5000)+`"}`)
	c := dial(t, serve(t, h, rest).URL, client.Options{MaxBody: 4096})
	if _, err := c.Get(t.Context(), &a2a.GetTaskRequest{ID: "t"}); !errors.Is(err, client.ErrTooLarge) {
		t.Errorf("Get() = %v, want ErrTooLarge", err)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	h := func(http.ResponseWriter, *http.Request) { <-release }
	c := dial(t, serve(t, h, rest).URL, client.Options{})
	defer close(release)
	c2, err := client.New(c.Card(), client.Options{Timeout: time.Millisecond})
	if err != nil {
		t.Fatalf("New() = %v", err)
	}
	defer c2.Close()
	_, err = c2.Get(t.Context(), &a2a.GetTaskRequest{ID: "t"})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(fmt.Sprint(err), "no answer within 1ms") {
		t.Errorf("Get() = %v, want a deadline that names itself", err)
	}
}

func TestCancelledCall(t *testing.T) {
	t.Parallel()
	c := dial(t, startSDK(t, nil, rpc), client.Options{})
	gone := errors.New("the caller is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var last error
	for _, err := range c.Stream(ctx, textRequest("wait")) {
		if err == nil {
			cancel(gone)
			continue
		}
		last = err
	}
	if !errors.Is(last, gone) {
		t.Errorf("Stream() ends with %v, want the cause of the cancellation", last)
	}
}
