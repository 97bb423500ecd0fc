package mcp_test

import (
	"context"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

const patience = 2 * time.Minute

// wire is a way to connect a host to a hub.
type wire struct {
	name, version string
	http          bool
}

var wires = []wire{
	{"stdio-2025-06-18", "2025-06-18", false},
	{"stdio-2026-07-28", "2026-07-28", false},
	{"http-2025-06-18", "2025-06-18", true},
	{"http-2026-07-28", "2026-07-28", true},
}

// host is the official client, connected to a hub.
type host struct {
	*mcp.ClientSession

	t *testing.T
	// progress receives the progress of calls, asked the questions to the person. answers
	// supplies the person's answers.
	progress, asked, answers, updated chan string
}

// connect connects a host to a hub, with an API key or without one; flags are for parley mcp.
func (w wire) connect(t *testing.T, hub *hubtest.Hub, key string, flags ...string) *host {
	t.Helper()
	h := &host{
		t: t, progress: make(chan string, 1000), asked: make(chan string, 100), answers: make(chan string, 100),
		updated: make(chan string, 1000),
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { h.progress <- r.Params.Message },
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { h.updated <- r.Params.URI },
		ElicitationHandler: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			h.asked <- r.Params.Message
			select {
			case text := <-h.answers:
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": text}}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	})
	session, err := client.Connect(t.Context(), w.transport(t, hub, key, flags...), &mcp.ClientSessionOptions{ProtocolVersion: w.version})
	if err != nil {
		t.Fatalf("connect over %s: %v", w.name, err)
	}
	if got := session.InitializeResult().ProtocolVersion; got != w.version {
		t.Errorf("version = %s, want %s", got, w.version)
	}
	h.ClientSession = session
	t.Cleanup(func() { _ = session.Close() })
	return h
}

func (w wire) transport(t *testing.T, hub *hubtest.Hub, key string, flags ...string) mcp.Transport {
	t.Helper()
	if !w.http {
		cmd := exec.Command(hubtest.Binary(t), append([]string{"mcp", "--url", hub.URL(), "--session", "table"}, flags...)...)
		cmd.Env = append(cmd.Environ(), "PARLEY_API_KEY="+key)
		cmd.Stderr = t.Output()
		return &mcp.CommandTransport{Command: cmd}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return &mcp.StreamableClientTransport{
		Endpoint: hub.URL() + "/mcp", HTTPClient: &http.Client{Transport: keyed{transport, key}}, MaxRetries: -1,
	}
}

// keyed adds a key to each request.
type keyed struct {
	http.RoundTripper

	key string
}

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	if k.key != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+k.key)
	}
	return k.RoundTripper.RoundTrip(r)
}

type args map[string]any

// call calls a tool, which must succeed, and returns its structured content.
func (h *host) call(name string, a args) map[string]any {
	h.t.Helper()
	res, err := h.try(h.t.Context(), name, a)
	if err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
	if res.IsError {
		h.t.Fatalf("%s(%v): %s", name, a, text(res))
	}
	object, _ := res.StructuredContent.(map[string]any)
	return object
}

func (h *host) try(ctx context.Context, name string, a args) (*mcp.CallToolResult, error) {
	if a == nil {
		a = args{}
	}
	params := &mcp.CallToolParams{Name: name, Arguments: a}
	params.SetProgressToken(name)
	return h.CallTool(ctx, params)
}

func text(res *mcp.CallToolResult) string {
	var all string
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			all += c.Text
		}
	}
	return all
}

// receive receives a value from a channel, with a time limit.
func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s has not come", what)
		panic("unreachable")
	}
}

// awaitProgress waits for progress that contains a text.
func (h *host) awaitProgress(want string) {
	h.t.Helper()
	for !strings.Contains(receive(h.t, "progress with "+want, h.progress), want) {
	}
}

// Every tool is listed, can be called, and works, over every transport.
func TestEveryTool(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, hubtest.Options{Flags: []string{"--agents-allow", "loopback"}})
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			h := w.connect(t, hub, "")
			far := "far-" + strings.ReplaceAll(w.name, ".", "-")
			called := h.tour(far)
			for tool, err := range h.Tools(t.Context(), nil) {
				if err != nil {
					t.Fatalf("Tools: %v", err)
				}
				if !called[tool.Name] {
					t.Errorf("%s was not called", tool.Name)
				}
				delete(called, tool.Name)
				if tool.Description == "" || tool.InputSchema == nil {
					t.Errorf("%s has no description or no schema", tool.Name)
				}
			}
			for name := range called {
				t.Errorf("%s is not in the list", name)
			}
		})
	}
}

// tour calls every tool and returns the names.
func (h *host) tour(far string) map[string]bool {
	h.t.Helper()
	called := make(map[string]bool)
	call := func(name string, a args) map[string]any {
		h.t.Helper()
		called[name] = true
		return h.call(name, a)
	}
	call("list_known_agents", nil)
	call("get_agent_details", args{"agent_name": "echo"})
	call("search_known_services", args{"query": "what time is it"})
	if got := call("chat_with_agent", args{"agent": "echo", "message": "hello"}); !strings.Contains(got["reply"].(string), "hello") {
		h.t.Errorf("chat_with_agent = %v", got)
	}
	h.awaitProgress("echo completed")
	h.answers <- "Ada"
	call("invoke_agent", args{"agent_name": "interview", "skill": "interview", "message": "ask 1"})
	if asked := receive(h.t, "the question", h.asked); !strings.Contains(asked, "What is your name?") {
		h.t.Errorf("the person was asked %q", asked)
	}
	task := call("invoke_agent", args{"agent_name": "slow", "skill": "slow", "message": "600", "timeout_minutes": 0})["task_id"]
	if list, _ := call("list_tasks", args{"agent_name": "slow", "limit": 10})["tasks"].([]any); len(list) == 0 {
		h.t.Error("list_tasks has none")
	}
	call("get_task", args{"task_id": task})
	call("cancel_task", args{"task_id": task})
	h.answers <- "Ada"
	call("continue_task", args{"task_id": h.waiting(), "message": "Ada"})
	plan := "plan-" + far // hosts of one caller over HTTP share their notes
	call("save_to_working_memory", args{"key": plan, "data": "buy tulips"})
	call("get_from_working_memory", args{"key": plan})
	call("search_working_memory", args{"query": "tulips"})
	call("delete_from_working_memory", args{"key": plan})
	call("register_agent", args{"agent_name": far, "url": "http://127.0.0.1:1", "skills": []string{"translate"}})
	call("refresh_agent_card", args{"agent_name": far})
	call("unregister_agent", args{"agent_name": far})
	h.answers <- "because"
	call("ask_human", args{"question": "why?"})
	receive(h.t, "the question", h.asked)
	call("send_update", args{"text": "half way"})
	h.awaitProgress("half way")
	return called
}

// With the bridge each skill is a tool. Skills of an agent that is registered later become
// tools as well.
func TestBridge(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, hubtest.Options{Config: "mcp: {bridge: true, no_toolbox: true, block: ['*clock*']}\n"})
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			h := w.connect(t, hub, "", "--bridge", "--no-toolbox", "--block", "*clock*")
			var names []string
			for tool, err := range h.Tools(t.Context(), nil) {
				if err != nil {
					t.Fatalf("Tools: %v", err)
				}
				names = append(names, tool.Name)
			}
			slices.Sort(names)
			want := []string{"a2a__echo__echo", "a2a__interview__interview", "a2a__report__report", "a2a__slow__slow"}
			if !slices.Equal(names, want) {
				t.Errorf("tools = %v, want %v", names, want)
			}
			if got := h.call("a2a__echo__echo", args{"query": "hello"})["response"]; !strings.Contains(got.(string), "hello") {
				t.Errorf("echo = %v", got)
			}
		})
	}
}

// waiting returns a task that waits for an answer.
func (h *host) waiting() string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	// This host could answer, so another one that cannot creates the task.
	got := h.call("invoke_agent", args{"agent_name": "interview", "skill": "interview", "message": "ask 1", "timeout_minutes": 0})
	id, _ := got["task_id"].(string)
	for ctx.Err() == nil {
		state := h.call("get_task", args{"task_id": id})
		if s, _ := state["state"].(string); s == "input-required" {
			return id
		}
	}
	h.t.Fatalf("the interview does not wait: %v", got)
	return ""
}

// A call that the host cancels has its task canceled.
func TestCancel(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, hubtest.Options{})
	for i, w := range wires { // not concurrently, because they are one caller
		t.Run(w.name, func(t *testing.T) {
			h := w.connect(t, hub, "")
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := h.try(ctx, "chat_with_agent", args{"agent": "slow", "message": "600 " + w.name})
				done <- err
			}()
			h.awaitProgress("slow working")
			cancel()
			if err := receive(t, "the end of the call", done); err == nil {
				t.Error("the canceled call has a result")
			}
			deadline := time.Now().Add(patience)
			for h.canceled() <= i {
				if time.Now().After(deadline) {
					t.Fatal("the task was not canceled")
				}
			}
		})
	}
}

// canceled returns the number of canceled tasks of the slow agent.
func (h *host) canceled() int {
	h.t.Helper()
	list, _ := h.call("list_tasks", args{"agent_name": "slow", "state": "canceled"})["tasks"].([]any)
	return len(list)
}

// Callers get only their own data, over every transport.
func TestCallersSeeTheirOwn(t *testing.T) {
	t.Parallel()
	const ann, bob = "a-long-enough-key-for-ann", "a-long-enough-key-for-bob"
	hub := hubtest.Start(t, hubtest.Options{Config: "auth:\n  api_keys:\n    " + ann + ": {agent_id: ann}\n    " + bob + ": {agent_id: bob}\n"})
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			anns, bobs := w.connect(t, hub, ann), w.connect(t, hub, bob)
			id, _ := anns.call("chat_with_agent", args{"agent": "echo", "message": "mine"})["taskId"].(string)
			if id == "" {
				t.Fatal("the task has no id")
			}
			res, err := bobs.try(t.Context(), "get_task", args{"task_id": id})
			if err != nil || !res.IsError || !strings.Contains(text(res), "no such task") {
				t.Errorf("bob sees ann's task: %v, %v", res, err)
			}
			uri := "parley://tasks/" + id
			if _, err := anns.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err != nil {
				t.Errorf("ann reads her task: %v", err)
			}
			if _, err := bobs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
				t.Error("bob reads ann's task")
			}
			if got := bobs.uris(); slices.Contains(got, uri) {
				t.Errorf("bob has ann's task in his list: %v", got)
			}
			if got := anns.uris(); !slices.Contains(got, uri) {
				t.Errorf("ann has not her task in her list: %v", got)
			}
		})
	}
	if _, err := mcp.NewClient(&mcp.Implementation{Name: "x", Version: "1"}, nil).Connect(t.Context(), wires[2].transport(t, hub, ""), nil); err == nil {
		t.Error("somebody without a key is served")
	}
}

// uris returns the addresses of all resources.
func (h *host) uris() []string {
	h.t.Helper()
	var all []string
	for r, err := range h.Resources(h.t.Context(), nil) {
		if err != nil {
			h.t.Fatalf("Resources: %v", err)
		}
		all = append(all, r.URI)
	}
	return all
}

// A host connected over a pipe continues to work after the hub was killed and started again.
func TestHubComesBack(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, hubtest.Options{})
	h := wires[0].connect(t, hub, "")
	h.call("save_to_working_memory", args{"key": "plan", "data": "one"})
	uri := ""
	for _, u := range h.uris() {
		if strings.HasSuffix(u, "/plan") {
			uri = u
		}
	}
	if err := h.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatalf("Subscribe(%s): %v", uri, err)
	}
	receive(t, "the update of the beginning", h.updated)
	hub.Kill()
	done := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, _ := h.try(t.Context(), "chat_with_agent", args{"agent": "echo", "message": "are you there?"})
		done <- res
	}()
	hub.Restart()
	if res := receive(t, "the answer", done); res == nil || res.IsError {
		t.Errorf("the call gives %+v", res)
	}
	receive(t, "an update after the restart", h.updated)
	h.call("save_to_working_memory", args{"key": "plan", "data": "two"})
	receive(t, "the update of the change", h.updated)
}

// A hub that stops does not cancel the tasks of hosts. They continue after the restart or fail
// with a reason, like all other tasks.
func TestHubStops(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, hubtest.Options{Config: "engine: {drain_timeout: 1s}\n"})
	h := wires[2].connect(t, hub, "")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = h.try(context.WithoutCancel(t.Context()), "chat_with_agent", args{"agent": "slow", "message": "600"})
	}()
	h.awaitProgress("slow working")
	hub.Stop() // it fails if the hub waits for the agent
	receive(t, "the end of the call", done)
	hub.Restart()
	h = wires[2].connect(t, hub, "")
	if got := h.canceled(); got > 0 {
		t.Errorf("%d tasks were canceled", got)
	}
}
