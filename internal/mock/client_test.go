package mock_test

import (
	"context"
	"errors"
	"iter"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/mock"
	"github.com/parley-a2a/parley/internal/testing/mocktest"
)

const scenario = `
a2a_agents:
  - name: travel
    auth: {token: secret}
    responses:
      - match: {equals: rome}
        response: Sunny.
      - match: {equals: weather}
        steps:
          - say: Thinking.
          - ask: Which city?
          - artifact: {name: forecast, chunks: [Sunny, " in ", "{{text}}"]}
          - complete: Done.
      - match: {equals: hello}
        message: Hello back.
      - match: {equals: refuse}
        protocol_error: ContentTypeNotSupported
      - match: {equals: fail}
        error: It broke.
      - match: {equals: wait}
        steps: [{wait: 24h}]
      - match: {equals: broken}
        fault: reset
      - match: {equals: half}
        steps: [{say: one}, {fault: reset}, {say: two}]
    operations:
      ListTasks: {times: 1, protocol_error: Unavailable}
`

// caller has the client operations that the scenario needs.
type caller struct {
	send   func(ctx context.Context, text string, id a2a.TaskID) (a2a.SendMessageResult, error)
	stream func(ctx context.Context, text string, id a2a.TaskID) iter.Seq2[a2a.Event, error]
	get    func(ctx context.Context, id a2a.TaskID) (*a2a.Task, error)
	list   func(ctx context.Context) (*a2a.ListTasksResponse, error)
	cancel func(ctx context.Context, id a2a.TaskID) (*a2a.Task, error)
}

func request(text string, id a2a.TaskID) *a2a.SendMessageRequest {
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
	m.TaskID = id
	return &a2a.SendMessageRequest{Message: m}
}

// ours returns a caller that uses package client.
func ours(t *testing.T, s *mocktest.Server, b a2a.TransportProtocol) *caller {
	t.Helper()
	c, err := client.Dial(t.Context(), s.URL(), client.Options{Key: "secret", Bindings: []a2a.TransportProtocol{b}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &caller{
		send: func(ctx context.Context, text string, id a2a.TaskID) (a2a.SendMessageResult, error) {
			return c.Send(ctx, request(text, id))
		},
		stream: func(ctx context.Context, text string, id a2a.TaskID) iter.Seq2[a2a.Event, error] {
			return c.Stream(ctx, request(text, id))
		},
		get: func(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
			return c.Get(ctx, &a2a.GetTaskRequest{ID: id})
		},
		list: func(ctx context.Context) (*a2a.ListTasksResponse, error) { return c.List(ctx, &a2a.ListTasksRequest{}) },
		cancel: func(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
			return c.Cancel(ctx, &a2a.CancelTaskRequest{ID: id})
		},
	}
}

// bearer adds the credential to each call of the SDK's client.
type bearer struct {
	a2aclient.PassthroughInterceptor
}

// Before implements a2aclient.CallInterceptor.
func (bearer) Before(ctx context.Context, req *a2aclient.Request) (context.Context, any, error) {
	req.ServiceParams.Append("Authorization", "Bearer secret")
	return ctx, nil, nil
}

// official returns a caller that uses the SDK's client over the given binding of the card.
func official(t *testing.T, s *mocktest.Server, b a2a.TransportProtocol, more ...a2aclient.FactoryOption) *caller {
	t.Helper()
	card, err := agentcard.NewResolver(nil).Resolve(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	options := append([]a2aclient.FactoryOption{
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{b}}), a2aclient.WithCallInterceptors(bearer{}),
	}, more...)
	c, err := a2aclient.NewFromCard(t.Context(), card, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Destroy() })
	return &caller{
		send: func(ctx context.Context, text string, id a2a.TaskID) (a2a.SendMessageResult, error) {
			return c.SendMessage(ctx, request(text, id))
		},
		stream: func(ctx context.Context, text string, id a2a.TaskID) iter.Seq2[a2a.Event, error] {
			return c.SendStreamingMessage(ctx, request(text, id))
		},
		get: func(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
			return c.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
		},
		list: func(ctx context.Context) (*a2a.ListTasksResponse, error) {
			return c.ListTasks(ctx, &a2a.ListTasksRequest{})
		},
		cancel: func(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
			return c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
		},
	}
}

// overGRPC returns a caller that uses the SDK's client, connected to the SDK's gRPC server.
func overGRPC(t *testing.T) (*mock.Server, *caller) {
	t.Helper()
	c, err := mock.Parse("mock.yaml", []byte(scenario))
	if err != nil {
		t.Fatal(err)
	}
	l := bufconn.Listen(1 << 16)
	iface := &a2a.AgentInterface{URL: "passthrough:///mock", ProtocolBinding: a2a.TransportProtocolGRPC, ProtocolVersion: a2a.Version}
	s, err := mock.New(c, mock.Options{Interfaces: []*a2a.AgentInterface{iface}})
	if err != nil {
		t.Fatal(err)
	}
	if s.RequestHandler("unknown") != nil {
		t.Error("RequestHandler(unknown) is not nil")
	}
	srv := grpc.NewServer()
	a2agrpc.NewHandler(s.RequestHandler("travel")).RegisterWith(srv)
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	t.Cleanup(func() {
		srv.Stop()
		wg.Wait()
		s.Close()
	})
	conn, err := grpc.NewClient("passthrough:///mock", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return s, carried(a2agrpc.NewGRPCTransport(conn))
}

// carried returns a caller that uses a transport of the SDK's client.
func carried(transport a2aclient.Transport) *caller {
	params := a2aclient.ServiceParams{"authorization": {"Bearer secret"}}
	return &caller{
		send: func(ctx context.Context, text string, id a2a.TaskID) (a2a.SendMessageResult, error) {
			return transport.SendMessage(ctx, params, request(text, id))
		},
		stream: func(ctx context.Context, text string, id a2a.TaskID) iter.Seq2[a2a.Event, error] {
			return transport.SendStreamingMessage(ctx, params, request(text, id))
		},
		get: func(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
			return transport.GetTask(ctx, params, &a2a.GetTaskRequest{ID: id})
		},
		list: func(ctx context.Context) (*a2a.ListTasksResponse, error) {
			return transport.ListTasks(ctx, params, &a2a.ListTasksRequest{})
		},
		cancel: func(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
			return transport.CancelTask(ctx, params, &a2a.CancelTaskRequest{ID: id})
		},
	}
}

// The same script gives the same results to every client over every binding.
func TestScenario(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]a2a.TransportProtocol{"jsonrpc": a2a.TransportProtocolJSONRPC, "rest": a2a.TransportProtocolHTTPJSON} {
		t.Run("client/"+name, func(t *testing.T) {
			t.Parallel()
			s := mocktest.Start(t, scenario)
			c := ours(t, s, b)
			testAnswers(t, c)
			testDialogue(t, c)
			testRefusals(t, s.Server, c)
		})
		t.Run("sdk/"+name, func(t *testing.T) {
			t.Parallel()
			s := mocktest.Start(t, scenario)
			c := official(t, s, b)
			testAnswers(t, c)
			testDialogue(t, c)
			testRefusals(t, s.Server, c)
		})
	}
	t.Run("sdk/grpc", func(t *testing.T) {
		t.Parallel()
		s, c := overGRPC(t)
		testAnswers(t, c)
		testDialogue(t, c)
		testRefusals(t, s, c)
	})
}

func testAnswers(t *testing.T, c *caller) {
	t.Helper()
	r, err := c.send(t.Context(), "rome", "")
	if task, ok := r.(*a2a.Task); err != nil || !ok || task.Status.State != a2a.TaskStateCompleted || words(task) != "Sunny." {
		t.Errorf("rome: %+v, %v, want the task with its artifact", r, err)
	}
	r, err = c.send(t.Context(), "hello", "")
	if m, ok := r.(*a2a.Message); err != nil || !ok || m.Parts[0].Text() != "Hello back." || m.ContextID == "" {
		t.Errorf("hello: %+v, %v, want a message with a context", r, err)
	}
	r, err = c.send(t.Context(), "fail", "")
	if task, ok := r.(*a2a.Task); err != nil || !ok || task.Status.State != a2a.TaskStateFailed || task.Status.Message.Parts[0].Text() != "It broke." {
		t.Errorf("fail: %+v, %v, want a failed task", r, err)
	}
	var events []a2a.Event
	for e, err := range c.stream(t.Context(), "hello", "") {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if _, ok := events[0].(*a2a.Message); len(events) != 1 || !ok {
		t.Errorf("hello in a stream: %v, want one message", events)
	}
}

// words returns the text of all artifacts of a task.
func words(task *a2a.Task) string {
	var b strings.Builder
	for _, a := range task.Artifacts {
		for _, p := range a.Parts {
			b.WriteString(p.Text())
		}
	}
	return b.String()
}

func testDialogue(t *testing.T, c *caller) {
	t.Helper()
	r, err := c.send(t.Context(), "weather", "")
	task, ok := r.(*a2a.Task)
	if err != nil || !ok || task.Status.State != a2a.TaskStateInputRequired {
		t.Fatalf("weather: %+v, %v, want a question", r, err)
	}
	var events []string
	for e, err := range c.stream(t.Context(), "Oslo", task.ID) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *a2a.Task:
			events = append(events, "task")
		case *a2a.TaskStatusUpdateEvent:
			events = append(events, string(e.Status.State))
		case *a2a.TaskArtifactUpdateEvent:
			events = append(events, e.Artifact.Parts[0].Text())
		}
	}
	want := []string{"task", "TASK_STATE_WORKING", "Sunny", " in ", "Oslo", "TASK_STATE_COMPLETED"}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("the stream mismatch (-want +got):\n%s", diff)
	}
	got, err := c.get(t.Context(), task.ID)
	if err != nil || words(got) != "Sunny in Oslo" || len(got.History) != 4 || got.Artifacts[0].Name != "forecast" {
		t.Errorf("GetTask: %+v, %v, want the whole task", got, err)
	}
}

func testRefusals(t *testing.T, s *mock.Server, c *caller) {
	t.Helper()
	if _, err := c.send(t.Context(), "refuse", ""); !errors.Is(err, a2a.ErrUnsupportedContentType) {
		t.Errorf("refuse: %v, want %v", err, a2a.ErrUnsupportedContentType)
	}
	if _, err := c.send(t.Context(), "broken", ""); err == nil {
		t.Error("broken: no error")
	}
	if _, err := c.get(t.Context(), "unknown"); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("GetTask(unknown): %v, want %v", err, a2a.ErrTaskNotFound)
	}
	if _, err := c.list(t.Context()); err == nil {
		t.Error("the first ListTasks: no error")
	}
	page, err := c.list(t.Context())
	if err != nil || page.TotalSize != 3 || len(page.Tasks) != 3 {
		t.Errorf("ListTasks: %+v, %v, want three tasks", page, err)
	}
	var failed error
	var texts []string
	for e, err := range c.stream(t.Context(), "half", "") {
		if err != nil {
			failed = err
			break
		}
		if u, ok := e.(*a2a.TaskStatusUpdateEvent); ok && u.Status.Message != nil {
			texts = append(texts, u.Status.Message.Parts[0].Text())
		}
	}
	if diff := cmp.Diff([]string{"one"}, texts); failed == nil || diff != "" {
		t.Errorf("half a stream ends with %v (-want +got):\n%s", failed, diff)
	}
	testCancel(t, s, c)
}

func testCancel(t *testing.T, s *mock.Server, c *caller) {
	t.Helper()
	for e, err := range c.stream(t.Context(), "wait", "") {
		if err != nil {
			t.Fatal(err)
		}
		task, ok := e.(*a2a.Task)
		if !ok {
			continue
		}
		got, err := c.cancel(t.Context(), task.ID)
		if err != nil || got.Status.State != a2a.TaskStateCanceled {
			t.Fatalf("CancelTask: %+v, %v", got, err)
		}
		if _, err := c.cancel(t.Context(), task.ID); !errors.Is(err, a2a.ErrTaskNotCancelable) {
			t.Errorf("the second CancelTask: %v, want %v", err, a2a.ErrTaskNotCancelable)
		}
	}
	if n := len(s.Calls("CancelTask")); n != 2 {
		t.Errorf("%d calls of CancelTask recorded, want 2", n)
	}
}

// The credential is required over every binding.
func TestCredential(t *testing.T) {
	t.Parallel()
	s := mocktest.Start(t, scenario)
	for _, b := range []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON} {
		c, err := client.Dial(t.Context(), s.URL(), client.Options{Bindings: []a2a.TransportProtocol{b}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Send(t.Context(), request("rome", "")); !errors.Is(err, a2a.ErrUnauthenticated) {
			t.Errorf("%s without a key: %v, want %v", b, err, a2a.ErrUnauthenticated)
		}
		c.Close()
	}
	_, err := s.RequestHandler("").GetTask(t.Context(), &a2a.GetTaskRequest{ID: "x"})
	if !errors.Is(err, a2a.ErrUnauthenticated) {
		t.Errorf("GetTask without a key: %v, want %v", err, a2a.ErrUnauthenticated)
	}
	key := mocktest.Start(t, "a2a_agents: [{name: a, auth: {scheme: api_key, token: k}, responses: [{response: ok}]}]")
	c, err := client.Dial(t.Context(), key.URL(), client.Options{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Send(t.Context(), request("x", "")); err != nil {
		t.Errorf("with the API key: %v", err)
	}
}

// A client that follows a stream survives a fault: events continue where they were cut.
func TestFollowOverAFault(t *testing.T) {
	t.Parallel()
	s := mocktest.Start(t, `
a2a_agents:
  - name: a
    responses:
      - steps: [{artifact: {chunks: [a, b]}}, {fault: reset}, {wait: 1ms}, {artifact: {chunks: [c, d]}}]
`)
	c, err := client.Dial(t.Context(), s.URL(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var texts []string
	var cut *client.Cut
	note := func(e a2a.Event) {
		if u, ok := e.(*a2a.TaskArtifactUpdateEvent); ok {
			texts = append(texts, u.Artifact.Parts[0].Text())
		}
	}
	for e, err := range c.Stream(t.Context(), request("x", "")) {
		if err != nil && !errors.As(err, &cut) {
			t.Fatalf("Stream() = %v, want that it is cut", err)
		}
		note(e)
	}
	if cut == nil {
		t.Fatal("the stream was not cut")
	}
	for e, err := range c.Follow(t.Context(), cut.Position) {
		if err != nil {
			t.Fatal(err)
		}
		note(e)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, texts); diff != "" {
		t.Errorf("the chunks mismatch (-want +got):\n%s", diff)
	}
	if n := len(s.Calls("SubscribeToTask")); n != 1 {
		t.Errorf("%d calls of SubscribeToTask, want 1", n)
	}
}

// A client recovers from a wrong card: an agent that does not stream is called without
// streaming.
func TestLyingCard(t *testing.T) {
	t.Parallel()
	s := mocktest.Start(t, `
a2a_agents:
  - name: a
    card: {capabilities: {streaming: false}}
    lie: {capabilities: {streaming: true}}
    responses: [{response: ok}]
`)
	c, err := client.Dial(t.Context(), s.URL(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !c.Card().Capabilities.Streaming {
		t.Fatal("the card does not lie")
	}
	var reply client.Fold
	for e, err := range c.Stream(t.Context(), request("x", "")) {
		if err != nil {
			t.Fatalf("Stream() = %v", err)
		}
		reply.Apply(e)
	}
	if reply.Result() == nil || len(s.Calls("SendStreamingMessage")) != 1 || len(s.Calls("SendMessage")) != 1 {
		t.Errorf("reply = %v after %d and %d calls, want it after one of each",
			reply.Result(), len(s.Calls("SendStreamingMessage")), len(s.Calls("SendMessage")))
	}
}
