package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/parley-a2a/parley/internal/config"
)

// ruledConfig is a hub with a policy: ann may perform all operations with all agents but clock.
// bob, who belongs to the same organisation, may perform all operations with clock only.
const ruledConfig = `
auth:
  api_keys:
    ann-0123456789abcdef: {agent_id: ann, roles: [partner], owner: acme}
    bob-0123456789abcdef: {agent_id: bob, roles: [guest], owner: acme}
    ops-0123456789abcdef: {agent_id: ops}
    root-0123456789abcdef: {agent_id: root, roles: [admin]}
    chat-0123456789abcdef: {agent_id: chat, owner: acme}
extended_card: {authenticated: true}
mcp: {bridge: true}
policy:
  rules:
    - allow: ["*"]
      roles: partner
      agents: [echo, interview, slow, report]
    - allow: [status, memory.*, inbox.*]
      roles: partner
    - allow: ["*"]
      roles: guest
      agents: clock
    - {allow: admin.keys, callers: ops}
    - {allow: [send, list], callers: chat, agents: echo}
    - {allow: status, callers: chat}
    - {deny: admin.trust, roles: admin}
`

// ruledHub is a hub in this process.
type ruledHub struct {
	t    *testing.T
	url  string
	conn *grpc.ClientConn
}

func startRuled(t *testing.T, src string) *ruledHub {
	t.Helper()
	cfg, err := config.Parse("parley.yaml", []byte(src), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listen, cfg.GRPCListen, cfg.Data = "127.0.0.1:0", "127.0.0.1:0", t.TempDir()
	cfg.Bus.URL, cfg.Engine.DrainTimeout = "off", -1
	h, _ := running(t, cfg, slog.New(slog.DiscardHandler))
	conn, err := grpc.NewClient(h.About().GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &ruledHub{t, h.URL(), conn}
}

// ask sends a request for a caller; headers are "Name: value".
func (h *ruledHub) ask(who, request, body string, headers ...string) (int, http.Header, string) {
	h.t.Helper()
	if who != "" {
		headers = append(headers, "X-Api-Key: "+who+"-0123456789abcdef")
	}
	resp, text := (&httpQuery{at: h.url, what: request, body: body, header: headers}).answered(h.t)
	return resp.StatusCode, resp.Header, text
}

// interview starts a task of ann that waits for her.
func (h *ruledHub) interview() string {
	h.t.Helper()
	_, _, body := h.ask("ann", "POST /v1/a2a/interview/message:send", `{"message":{"messageId":"q","role":"ROLE_USER","parts":[{"text":"go"}]}}`)
	var got struct{ Task struct{ ID string } }
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.Task.ID == "" {
		h.t.Fatalf("begin a task: %s", body)
	}
	return got.Task.ID
}

// count returns the number of ann's tasks.
func (h *ruledHub) count() int {
	h.t.Helper()
	_, _, body := h.ask("ann", "GET /v1/a2a/tasks", "", "A2A-Version: 1.0")
	var got struct{ TotalSize int }
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		h.t.Fatalf("list: %s", body)
	}
	return got.TotalSize
}

func rpc(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
}

// TestPolicyOnEverySurface checks on every surface that ann is allowed and that bob, of the
// same organisation, is refused.
func TestPolicyOnEverySurface(t *testing.T) {
	t.Parallel()
	h := startRuled(t, ruledConfig)
	const (
		v1      = "A2A-Version: 1.0"
		hello   = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}`
		kinded  = `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hello"}]}}`
		bare    = `{"message":{"messageId":"m","role":"user","parts":[{"text":"hello"}]}}`
		denied  = "is not allowed"
		rpcCode = `-31403`
		missing = "no such"
		gone    = "Task not found"
	)
	hook := `"url":"https://hooks.example/a"`
	for _, tt := range []struct {
		name, request, body string
		header              string
		status              int    // the status for bob
		refuse              string // and a text in bob's answer
		allow               string // a text in ann's answer; TASK is a task of hers
	}{
		{"JSON-RPC send", "POST /a2a/echo", rpc("SendMessage", hello), v1, 403, rpcCode, "hello"},
		{"JSON-RPC send to the default agent", "POST /", rpc("SendMessage", hello), v1, 403, rpcCode, "hello"},
		{"JSON-RPC stream", "POST /a2a/echo", rpc("SendStreamingMessage", hello), v1, 403, rpcCode, "hello"},
		{"JSON-RPC get", "POST /a2a/interview", rpc("GetTask", `{"id":"TASK"}`), v1, 403, rpcCode, "TASK_STATE_INPUT_REQUIRED"},
		{"JSON-RPC get without agent", "POST /a2a", rpc("GetTask", `{"id":"TASK"}`), v1, 200, gone, "TASK_STATE_INPUT_REQUIRED"},
		{"JSON-RPC subscribe", "POST /a2a/interview", rpc("SubscribeToTask", `{"id":"GONE"}`), v1, 403, rpcCode, gone},
		{"JSON-RPC push", "POST /a2a/interview", rpc("CreateTaskPushNotificationConfig", `{"taskId":"TASK","id":"x",`+hook+`}`), v1, 403, rpcCode, "hooks.example"},
		{"JSON-RPC extended card", "POST /a2a/echo", rpc("GetExtendedAgentCard", `{}`), v1, 403, rpcCode, "skills"},
		{"HTTP send", "POST /v1/a2a/echo/message:send", hello, "", 403, denied, "hello"},
		{"HTTP stream", "POST /v1/a2a/echo/message:stream", hello, "", 403, denied, "hello"},
		{"HTTP get", "GET /v1/a2a/tasks/TASK", "", "", 404, gone, "TASK_STATE_INPUT_REQUIRED"},
		{"HTTP get of an agent", "GET /v1/a2a/interview/tasks/TASK", "", "", 403, denied, "TASK_STATE_INPUT_REQUIRED"},
		{"HTTP list of an agent", "GET /v1/a2a/interview/tasks", "", "", 403, denied, "TASK"},
		{"HTTP list", "GET /v1/a2a/tasks", "", "", 200, `"totalSize":0`, "TASK"},
		{"HTTP of no agent", "GET /v1/a2a/ghost/tasks", "", "", 403, denied, denied},
		{"HTTP push list", "GET /v1/a2a/interview/tasks/TASK/pushNotificationConfigs", "", "", 403, denied, "configs"},
		{"HTTP extended card", "GET /v1/a2a/echo/extendedAgentCard", "", "", 403, denied, "skills"},
		{"v0.3 send", "POST /a2a/echo", rpc("message/send", kinded), "", 403, denied, "hello"},
		{"v0.3 stream", "POST /a2a/echo", rpc("message/stream", kinded), "", 403, denied, "hello"},
		{"v0.3 get", "POST /a2a/interview", rpc("tasks/get", `{"id":"TASK"}`), "A2A-Version: 0.3", 403, denied, "input-required"},
		{"v0.3 REST send", "POST /v1/message:send", `{"request":{"messageId":"m","role":"ROLE_USER","content":[{"text":"hello"}]}}`, "", 403, denied, "hello"},
		{"derived send", "POST /a2a/echo", rpc("message/send", bare), "", 403, denied, "hello"},
		{"gateway send", "POST /", rpc("SendMessage", `{"message":{"messageId":"m","role":"user","parts":[{"text":"hello"}]}}`), "", 403, denied, "hello"},
		{"job", "POST /tasks/send", `{"taskId":"job-1","skill":"echo","message":{"role":"user","parts":[{"kind":"text","text":"hello"}]}}`, "", 400, "no agent here", "hello"},
		{"chat completions", "POST /v1/chat/completions", `{"model":"echo","messages":[{"role":"user","content":"hello"}]}`, "", 404, "echo", "hello"},
		{"models", "GET /v1/models", "", "", 200, "clock", "echo"},
		{"AG-UI", "POST /ag-ui/echo", `{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"hello"}]}`, "", 404, missing, "RUN_FINISHED"},
		{"API task", "GET /api/v1/tasks/TASK", "", "", 404, gone, "TASK"},
		{"API tasks of an agent", "GET /api/v1/tasks?agent=interview", "", "", 403, denied, "TASK"},
		{"API tree", "GET /api/v1/tasks/TASK/tree", "", "", 404, gone, "TASK"},
		{"API agent", "GET /api/v1/agents/echo", "", "", 404, missing, `"name":"echo"`},
		{"API agents", "GET /api/v1/agents", "", "", 200, `"name":"clock"`, `"name":"echo"`},
		{"API search", "GET /api/v1/search?q=echo+text", "", "", 200, `"results":[`, `"id":"echo"`},
		{"API status", "GET /api/v1/status", "", "", 403, denied, "TASK_STATE_INPUT_REQUIRED"},
		{"API notes", "GET /api/v1/memory", "", "", 403, denied, "{"},
		{"API inbox", "GET /api/v1/inbox", "", "", 403, denied, "items"},
		{"large part", "GET /v1/parts/TASK/" + strings.Repeat("0a", 32), "", "", 404, gone, "no such part"},
		{"card of an agent", "GET /a2a/echo/.well-known/agent-card.json", "", "", 404, missing, "skills"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := &ruledHub{t, h.url, h.conn}
			task, before := h.interview(), h.count()
			fill := strings.NewReplacer("TASK_STATE", "TASK_STATE", "TASK", task)
			var headers []string
			if tt.header != "" {
				headers = []string{tt.header}
			}
			code, _, body := h.ask("bob", fill.Replace(tt.request), fill.Replace(tt.body), headers...)
			if code != tt.status || !strings.Contains(body, tt.refuse) || strings.Contains(body, `"name":"echo"`) || strings.Contains(body, `"id":"echo"`) || strings.Contains(body, task) {
				t.Errorf("bob: %d %s, want %d with %q", code, body, tt.status, tt.refuse)
			}
			if n := h.count(); n != before {
				t.Errorf("the request of bob has made %d tasks", n-before)
			}
			code, _, body = h.ask("ann", fill.Replace(tt.request), fill.Replace(tt.body), headers...)
			if !strings.Contains(body, fill.Replace(tt.allow)) {
				t.Errorf("ann: %d %s, want %q", code, body, tt.allow)
			}
		})
	}
	t.Run("cancel", func(t *testing.T) {
		h := &ruledHub{t, h.url, h.conn}
		task := h.interview()
		if code, _, body := h.ask("bob", "POST /v1/a2a/tasks/"+task+":cancel", "{}"); code != 404 {
			t.Errorf("bob: %d %s", code, body)
		}
		if code, _, body := h.ask("ann", "POST /v1/a2a/tasks/"+task+":cancel", "{}"); code != 200 || !strings.Contains(body, "CANCELED") {
			t.Errorf("ann: %d %s", code, body)
		}
	})
}

// TestPolicyLeavesNoTrace checks that chats need only send and list, and that counts and
// suggestions do not reveal other agents.
func TestPolicyLeavesNoTrace(t *testing.T) {
	t.Parallel()
	h := startRuled(t, ruledConfig)
	h.interview()
	for request, body := range map[string]string{
		"POST /v1/chat/completions": `{"model":"echo","user":"u","messages":[{"role":"user","content":"hello you"}]}`,
		"POST /ag-ui/echo":          `{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"hello you"}]}`,
	} {
		if code, _, got := h.ask("chat", request, body); code != 200 || !strings.Contains(got, "you") || strings.Contains(got, "RUN_ERROR") {
			t.Errorf("%s: %d %s", request, code, got)
		}
	}
	_, _, got := h.ask("chat", "GET /api/v1/status", "")
	if !strings.Contains(got, `"TASK_STATE_COMPLETED":2`) || strings.Contains(got, "INPUT_REQUIRED") {
		t.Errorf("the status counts tasks of others: %s", got)
	}
	_, _, hidden := h.ask("bob", "GET /api/v1/agents/interview", "")
	_, _, missing := h.ask("bob", "GET /api/v1/agents/intervieu", "")
	if hidden != missing || strings.Contains(missing, "mean") {
		t.Errorf("an agent that is hidden: %s; one that is not there: %s", hidden, missing)
	}
}

// TestPolicyOverGRPC checks the policy over gRPC, for both versions.
func TestPolicyOverGRPC(t *testing.T) {
	t.Parallel()
	h := startRuled(t, ruledConfig)
	task := h.interview()
	as := func(who string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "x-api-key", who+"-0123456789abcdef")
	}
	c, old := pb.NewA2AServiceClient(h.conn), pb0.NewA2AServiceClient(h.conn)
	for name, call := range map[string]func(ctx context.Context) error{
		"send": func(ctx context.Context) error {
			_, err := c.SendMessage(ctx, &pb.SendMessageRequest{Tenant: "echo", Message: &pb.Message{
				MessageId: "m", Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: "x"}}},
			}})
			return err
		},
		"get": func(ctx context.Context) error {
			_, err := c.GetTask(ctx, &pb.GetTaskRequest{Tenant: "interview", Id: task})
			return err
		},
		"list": func(ctx context.Context) error {
			_, err := c.ListTasks(ctx, &pb.ListTasksRequest{Tenant: "interview"})
			return err
		},
		"extended card": func(ctx context.Context) error {
			_, err := c.GetExtendedAgentCard(ctx, &pb.GetExtendedAgentCardRequest{Tenant: "echo"})
			return err
		},
		"v0.3 send": func(ctx context.Context) error {
			_, err := old.SendMessage(ctx, &pb0.SendMessageRequest{Request: &pb0.Message{
				MessageId: "m", Role: pb0.Role_ROLE_USER, Parts: []*pb0.Part{{Part: &pb0.Part_Text{Text: "x"}}},
			}})
			return err
		},
	} {
		if err := call(as("bob")); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "is not allowed") {
			t.Errorf("%s by bob: %v, want PERMISSION_DENIED", name, err)
		}
		if err := call(as("ann")); err != nil {
			t.Errorf("%s by ann: %v", name, err)
		}
	}
	if _, err := c.GetTask(as("bob"), &pb.GetTaskRequest{Id: task}); status.Code(err) != codes.NotFound {
		t.Errorf("get without an agent by bob: %v, want NOT_FOUND", err)
	}
}

// TestPolicyOverMCP checks that MCP hosts see only the agents that their caller may use.
func TestPolicyOverMCP(t *testing.T) {
	t.Parallel()
	h := startRuled(t, ruledConfig)
	const accept = "Accept: application/json, text/event-stream"
	call := func(who, body string) string {
		_, header, _ := h.ask(who, "POST /mcp", rpc("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`), accept)
		_, _, got := h.ask(who, "POST /mcp", body, accept, "Mcp-Session-Id: "+header.Get("Mcp-Session-Id"))
		return got
	}
	for name, tt := range map[string]struct{ body, ann, bob, not string }{
		"agents":  {rpc("tools/call", `{"name":"list_known_agents","arguments":{}}`), "echo", "clock", "echo"},
		"details": {rpc("tools/call", `{"name":"get_agent_details","arguments":{"agent_name":"echo"}}`), "echo", `"isError":true`, "streams"},
		"call":    {rpc("tools/call", `{"name":"chat_with_agent","arguments":{"agent":"echo","message":"hello you"}}`), "hello you", `"isError":true`, "hello you"},
		"bridge":  {rpc("tools/list", `{}`), "echo__echo", "clock__clock", "echo__echo"},
	} {
		if got := call("ann", tt.body); !strings.Contains(got, tt.ann) {
			t.Errorf("%s: ann gets %s, want %q", name, got, tt.ann)
		}
		if got := call("bob", tt.body); !strings.Contains(got, tt.bob) || strings.Contains(got, tt.not) {
			t.Errorf("%s: bob gets %s, want %q and not %q", name, got, tt.bob, tt.not)
		}
	}
}

// TestPolicyOfAdministrators checks the rules for operations of administrators.
func TestPolicyOfAdministrators(t *testing.T) {
	t.Parallel()
	h := startRuled(t, ruledConfig)
	for _, tt := range []struct {
		request, body string
		ann, ops      int
		root          int
	}{
		{"GET /api/v1/keys", "", 403, 200, 200},
		{"POST /api/v1/keys", `{"agentId":"new"}`, 403, 200, 200},
		{"POST /api/v1/keys", `{"agentId":"known","roles":["partner","guest"]}`, 403, 200, 200},
		{"POST /api/v1/keys", `{"agentId":"unknown","roles":["partnr"]}`, 403, 400, 400},
		{"DELETE /api/v1/keys/none", "", 403, 404, 404},
		{"GET /api/v1/trust", "", 403, 403, 200},
		{"POST /api/v1/trust", `{"id":"x","level":"act"}`, 403, 403, 403},
		{"GET /api/v1/push", "", 403, 403, 200},
		{"GET /api/v1/costs", "", 403, 403, 200},
		{"GET /api/v1/status", "", 200, 403, 200},
		{"POST /api/v1/agents/echo/pause", "{}", 200, 403, 200},
		{"POST /api/v1/agents/echo/resume", "{}", 200, 403, 200},
		{"POST /api/v1/agents/clock/pause", "{}", 403, 403, 200},
		{"POST /api/v1/agents", `{"url":"https://x.example"}`, 403, 403, 400},
		{"POST /api/v1/tasks/none/fail", `{"reason":"x"}`, 403, 403, 404},
		{"GET /api/v1/tasks?scope=all", "", 403, 403, 200},
		{"GET /api/v1/memory", "", 200, 403, 403},
		{"GET /api/v1/inbox", "", 200, 403, 200},
		{"GET /api/v1/nonsense", "", 404, 404, 404},
	} {
		for who, want := range map[string]int{"ann": tt.ann, "ops": tt.ops, "root": tt.root} {
			if code, _, body := h.ask(who, tt.request, tt.body); code != want {
				t.Errorf("%s by %s: %d %s, want %d", tt.request, who, code, body, want)
			}
		}
	}
}
