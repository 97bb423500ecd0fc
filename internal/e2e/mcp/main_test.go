package mcp_test

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

// serve runs an MCP server for a hub; one of its tools crashes it.
func serve() {
	s := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object"}`)
	s.AddTool(&mcp.Tool{Name: "forecast", Description: "Says whether it will rain.", InputSchema: schema},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "rain"}}}, nil
		})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}
