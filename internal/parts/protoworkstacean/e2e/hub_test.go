package protoworkstacean

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(hubtest.M{M: m}, goleak.Cleanup(rabbittest.Exit))
}

// hub is a hub with a workspace/agents.yaml.
type hub struct {
	*hubtest.Hub
	t *testing.T
}

// settings are the configuration files of a hub.
type settings struct {
	Config string // parley.yaml
	Agents string // workspace/agents.yaml
	Known  string // well-known-agents.json
	Env    []string
	Flags  []string
}

func startHub(t *testing.T, s settings) *hub {
	t.Helper()
	h := &hub{hubtest.New(t, hubtest.Options{Config: s.Config, Env: s.Env, Flags: s.Flags}), t}
	h.write("workspace/agents.yaml", s.Agents)
	if s.Known != "" {
		h.write("well-known-agents.json", s.Known)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *hub) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.Dir(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// parley runs the command and returns its output; it must succeed.
func (h *hub) parley(args ...string) string {
	h.t.Helper()
	out, err := h.Parley(h.t.Context(), args...)
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

// call makes a request to the hub and returns the answer.
func (h *hub) call(path, body string, header ...string) map[string]any {
	h.t.Helper()
	var v map[string]any
	if err := hubtest.Call(h.t.Context(), hubtest.Request{URL: h.URL() + path, Body: body, Header: header}, &v); err != nil {
		h.t.Fatal(err)
	}
	return v
}

// reply is the result of chat_with_agent.
type reply struct {
	Agent, Reply, State, Data string
	ContextID, TaskID         string
}

// tool calls a tool over MCP; it must succeed.
func (h *hub) tool(name string, args map[string]any) string {
	h.t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "ava", Version: "1"}, nil)
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	s, err := c.Connect(h.t.Context(), &mcp.StreamableClientTransport{Endpoint: h.URL() + "/mcp", HTTPClient: web, DisableStandaloneSSE: true}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	defer s.Close()
	r, err := s.CallTool(h.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil || len(r.Content) == 0 {
		h.t.Fatalf("%s(%v) = %v, %v", name, args, r, err)
	}
	text, _ := r.Content[0].(*mcp.TextContent)
	if r.IsError || text == nil {
		h.t.Fatalf("%s(%v) = %s", name, args, text.Text)
	}
	return text.Text
}

// chat calls chat_with_agent.
func (h *hub) chat(args map[string]any) reply {
	h.t.Helper()
	var r reply
	text := h.tool("chat_with_agent", args)
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		h.t.Fatalf("chat_with_agent answers %q: %v", text, err)
	}
	if m := quoted.FindStringSubmatch(r.Reply); m != nil {
		r.Reply = m[1]
	}
	return r
}

// quoted matches the form in which a model gets an agent's text.
var quoted = regexp.MustCompile(`(?s)^<quoted [^>]*>\n(.*)\n</quoted [^>]*>$`)

// member returns the value at a path of names and indexes.
func member(v any, path ...any) any {
	for _, at := range path {
		switch at := at.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[at]
		case int:
			list, _ := v.([]any)
			if at >= len(list) {
				return nil
			}
			v = list[at]
		}
	}
	return v
}

// entry returns an agent as in GET /api/v1/agents/NAME.
func (h *hub) entry(name string) map[string]any {
	h.t.Helper()
	return h.call("/api/v1/agents/"+name, "")
}

// patience is the time limit for operations that should return immediately.
const patience = time.Minute
