package guarded_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

func TestMain(m *testing.M) {
	if os.Getenv("TEST_SERVER") != "" {
		serve()
		return
	}
	goleak.VerifyTestMain(hubtest.M{M: m}, goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"))
}

// serve runs an MCP server for a hub. Its tools have texts of both kinds as descriptions, and return
// one of both.
func serve() {
	s := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	for kind, text := range texts {
		tool := &mcp.Tool{Name: kind, Description: text, InputSchema: json.RawMessage(`{"type":"object"}`)}
		s.AddTool(tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	}
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}
