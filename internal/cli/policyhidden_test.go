package cli

import (
	"context"
	"strings"
	"testing"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// hidingConfig is a hub whose policy allows all agents and denies one of them to bob. Its
// default agent is denied to carl.
const hidingConfig = `
auth:
  api_keys:
    bob-0123456789abcdef: {agent_id: bob}
    carl-0123456789abcdef: {agent_id: carl}
extended_card: {authenticated: true}
mcp: {bridge: true}
default_agent: echo
policy:
  rules:
    - {allow: [send, stream, get, list, cancel, subscribe, push.*], who: authenticated}
    - {deny: "*", callers: bob, agents: slow}
    - {deny: "*", callers: carl, agents: [echo, "sl*"]}
`

// TestPolicyHidesAgents checks that a caller cannot distinguish an agent that a denial hides
// from a name that no agent has: the answers to both are the same in every byte.
func TestPolicyHidesAgents(t *testing.T) {
	t.Parallel()
	h := startRuled(t, hidingConfig)
	const (
		v1     = "A2A-Version: 1.0"
		named  = `{"tenant":"AGENT","message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}`
		hello  = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}`
		kinded = `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hello"}]}}`
	)
	for name, tt := range map[string]struct{ request, body, header string }{
		"JSON-RPC send":             {"POST /a2a/AGENT", rpc("SendMessage", hello), v1},
		"JSON-RPC stream":           {"POST /a2a/AGENT", rpc("SendStreamingMessage", hello), v1},
		"JSON-RPC skill":            {"POST /a2a/AGENT", rpc("SendMessage", strings.Replace(hello, `{"message"`, `{"metadata":{"skill":"slow"},"message"`, 1)), v1},
		"JSON-RPC get":              {"POST /a2a/AGENT", rpc("GetTask", `{"id":"x"}`), v1},
		"JSON-RPC list":             {"POST /a2a/AGENT", rpc("ListTasks", `{}`), v1},
		"JSON-RPC extended card":    {"POST /a2a/AGENT", rpc("GetExtendedAgentCard", `{}`), v1},
		"JSON-RPC unknown method":   {"POST /a2a/AGENT", rpc("Nothing", `{}`), v1},
		"tenant send":               {"POST /", rpc("SendMessage", named), v1},
		"tenant stream":             {"POST /", rpc("SendStreamingMessage", named), v1},
		"tenant get":                {"POST /", rpc("GetTask", `{"tenant":"AGENT","id":"x"}`), v1},
		"tenant list":               {"POST /", rpc("ListTasks", `{"tenant":"AGENT"}`), v1},
		"tenant push":               {"POST /", rpc("ListTaskPushNotificationConfigs", `{"tenant":"AGENT","taskId":"x"}`), v1},
		"tenant extended card":      {"POST /", rpc("GetExtendedAgentCard", `{"tenant":"AGENT"}`), v1},
		"HTTP send":                 {"POST /v1/a2a/AGENT/message:send", hello, ""},
		"HTTP send to a tenant":     {"POST /v1/a2a/message:send", named, ""},
		"HTTP list":                 {"GET /v1/a2a/AGENT/tasks", "", ""},
		"HTTP list of a tenant":     {"GET /v1/a2a/tasks?tenant=AGENT", "", v1},
		"HTTP get":                  {"GET /v1/a2a/AGENT/tasks/x", "", ""},
		"HTTP subscribe":            {"GET /v1/a2a/AGENT/tasks/x:subscribe", "", ""},
		"HTTP extended card":        {"GET /v1/a2a/AGENT/extendedAgentCard", "", ""},
		"HTTP no such path":         {"GET /v1/a2a/AGENT/nothing", "", ""},
		"HTTP client id":            {"POST /v1/a2a/AGENT/message:send", strings.Replace(hello, `"role"`, `"taskId":"mine","role"`, 1), ""},
		"v0.3 send":                 {"POST /a2a/AGENT", rpc("message/send", kinded), ""},
		"v0.3 HTTP send":            {"POST /a2a/AGENT/v1/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"hello"}]}}`, ""},
		"v0.3 HTTP extended card":   {"GET /a2a/AGENT/v1/card", "", ""},
		"PromptKit send":            {"POST /a2a/AGENT/a2a", rpc("message/send", `{"message":{"messageId":"m","role":"user","parts":[{"text":"hello"}]}}`), ""},
		"RockBot send":              {"POST /a2a/AGENT", rpc("SendMessage", `{"message":{"messageId":"m","role":"user","parts":[{"text":"hello"}]}}`), ""},
		"RockBot job":               {"POST /a2a/AGENT/tasks/send", `{"taskId":"j","message":{"role":"user","parts":[{"kind":"text","text":"hello"}]}}`, ""},
		"RockBot job with a skill":  {"POST /tasks/send", `{"taskId":"j","skill":"AGENT","message":{"role":"user","parts":[{"kind":"text","text":"hello"}]}}`, ""},
		"skill":                     {"POST /", rpc("SendMessage", strings.Replace(hello, `{"message"`, `{"metadata":{"skill":"AGENT"},"message"`, 1)), v1},
		"chat completions":          {"POST /v1/chat/completions", `{"model":"AGENT","messages":[{"role":"user","content":"hello"}]}`, ""},
		"AG-UI":                     {"POST /ag-ui/AGENT", `{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"hello"}]}`, ""},
		"card":                      {"GET /a2a/AGENT/.well-known/agent-card.json", "", ""},
		"card of v0.3":              {"GET /v1/a2a/AGENT/.well-known/agent.json", "", ""},
		"API agent":                 {"GET /api/v1/agents/AGENT", "", ""},
		"API tasks":                 {"GET /api/v1/tasks?agent=AGENT", "", ""},
		"API agent to be paused":    {"POST /api/v1/agents/AGENT/pause", "{}", ""},
		"API agent to be probed":    {"POST /api/v1/agents/AGENT/probe", "{}", ""},
		"API agent to be removed":   {"DELETE /api/v1/agents/AGENT", "", ""},
		"API search for its skills": {"GET /api/v1/search?q=AGENT", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := &ruledHub{t, h.url, h.conn}
			answer := func(who, agent string) (int, string) {
				fill := strings.NewReplacer("AGENT", agent)
				var headers []string
				if tt.header != "" {
					headers = []string{tt.header}
				}
				code, _, body := h.ask(who, fill.Replace(tt.request), fill.Replace(tt.body), headers...)
				return code, strings.ReplaceAll(body, agent, "AGENT")
			}
			for who, pair := range map[string][2]string{"bob": {"slow", "slov"}, "carl": {"slow", "slov"}} {
				code, body := answer(who, pair[0])
				if wantCode, want := answer(who, pair[1]); code != wantCode || body != want {
					t.Errorf("%s asks for a hidden agent: %d %s\nfor none: %d %s", who, code, body, wantCode, want)
				}
			}
		})
	}
	t.Run("default agent", func(t *testing.T) {
		h := &ruledHub{t, h.url, h.conn}
		if _, _, body := h.ask("carl", "POST /", rpc("SendMessage", hello), v1); strings.Contains(body, "echo") || !strings.Contains(body, "no such agent") {
			t.Errorf("the default agent is hidden: %s", body)
		}
		if code, _, body := h.ask("bob", "POST /", rpc("SendMessage", hello), v1); code != 200 || !strings.Contains(body, "hello") {
			t.Errorf("an agent that is not hidden: %d %s", code, body)
		}
	})
	t.Run("gRPC", func(t *testing.T) { hidesOverGRPC(t, h) })
}

func hidesOverGRPC(t *testing.T, h *ruledHub) {
	as := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", "bob-0123456789abcdef")
	c := pb.NewA2AServiceClient(h.conn)
	for name, call := range map[string]func(ctx context.Context, agent string) error{
		"send": func(ctx context.Context, agent string) error {
			_, err := c.SendMessage(ctx, &pb.SendMessageRequest{Tenant: agent, Message: &pb.Message{
				MessageId: "m", Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: "x"}}},
			}})
			return err
		},
		"get": func(ctx context.Context, agent string) error {
			_, err := c.GetTask(ctx, &pb.GetTaskRequest{Tenant: agent, Id: "x"})
			return err
		},
		"list": func(ctx context.Context, agent string) error {
			_, err := c.ListTasks(ctx, &pb.ListTasksRequest{Tenant: agent})
			return err
		},
		"extended card": func(ctx context.Context, agent string) error {
			_, err := c.GetExtendedAgentCard(ctx, &pb.GetExtendedAgentCardRequest{Tenant: agent})
			return err
		},
	} {
		hidden, none := call(as, "slow"), call(as, "slov")
		if hidden == nil || status.Code(hidden) != status.Code(none) || strings.ReplaceAll(hidden.Error(), "slow", "slov") != none.Error() {
			t.Errorf("%s: a hidden agent: %v; none: %v", name, hidden, none)
		}
	}
}
