package parley_test

import (
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/tools"
)

// TestMCPHostUsesTheHub checks that a client of the MCP SDK finds the tools of a library hub,
// and calls an agent with them. Without MCP, nothing is served at /mcp.
func TestMCPHostUsesTheHub(t *testing.T) {
	t.Parallel()
	without := serve(t, withBuiltin(&parley.Hub{API: true}))
	if code, body := without.call(http.MethodPost, "/mcp", "", "{}"); code != http.StatusNotFound {
		t.Errorf("without MCP /mcp = %d %s", code, body)
	}
	endpoint := &tools.Endpoint{Choice: llm.Filter{Block: []string{"register_agent"}}}
	s := serve(t, withBuiltin(&parley.Hub{API: true, Directory: new(parley.Directory), MCP: endpoint}))
	web := &http.Client{Transport: new(http.Transport)}
	t.Cleanup(web.CloseIdleConnections)
	client := sdk.NewClient(&sdk.Implementation{Name: "host", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: web, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if v := session.InitializeResult().ServerInfo.Version; v != parley.Version {
		t.Errorf("the server has the version %q, want %q", v, parley.Version)
	}
	found := map[string]bool{}
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		found[tool.Name] = true
	}
	if !found["invoke_agent"] || !found["list_known_agents"] || found["register_agent"] {
		t.Errorf("the tools are %v", found)
	}
	for want, call := range map[string]sdk.CallToolParams{
		"echo":    {Name: "list_known_agents"},
		"the sea": {Name: "invoke_agent", Arguments: map[string]any{"agent_name": "echo", "skill": "echo", "message": "the sea"}},
	} {
		got, err := session.CallTool(t.Context(), &call)
		if err != nil {
			t.Fatalf("%s: %v", call.Name, err)
		}
		var text strings.Builder
		for _, c := range got.Content {
			if c, ok := c.(*sdk.TextContent); ok {
				text.WriteString(c.Text)
			}
		}
		if got.IsError || !strings.Contains(text.String(), want) {
			t.Errorf("%s = %s", call.Name, text.String())
		}
	}
}
