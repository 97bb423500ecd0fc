package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serve runs a server of the official SDK, or one that misbehaves.
func serve(how string) {
	if how == "official" {
		_ = official().Run(context.Background(), &mcp.StdioTransport{})
		return
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if json.Unmarshal(in.Bytes(), &m) == nil {
			misbehave(how, m.Method, string(m.ID), string(m.Params))
		}
	}
}

func answer(id, result string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result) }

// misbehave answers correctly except for one fault.
func misbehave(how, method, id, params string) {
	version := "2025-06-18"
	if how == "version" {
		version = "1999-01-01"
	}
	switch method {
	case "initialize":
		switch how {
		case "mute":
			return
		case "prose":
			fmt.Println("Welcome!\nI am a server.")
			return
		case "stillborn":
			fmt.Fprintln(os.Stderr, "no cheese to begin with")
			os.Exit(4)
		}
		answer(id, `{"protocolVersion":"`+version+`","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"bad","version":"1"}}`)
		if how == "talkative" {
			fmt.Println("Server started!")
		}
	case "tools/list":
		answer(id, listOf(how))
	case "tools/call":
		if how == "hostile" {
			hostileCall(id, params)
			return
		}
		misbehaveCall(how, id)
	}
}

func listOf(how string) string {
	const tool = `{"name":"t%d","description":"does","inputSchema":{"type":"object"}}`
	switch how {
	case "many":
		var all []string
		for i := range 1000 {
			all = append(all, fmt.Sprintf(tool, i))
		}
		return `{"tools":[` + strings.Join(all, ",") + `]}`
	case "hostile":
		return hostileTools()
	case "described":
		return describedTool
	case "endless":
		return `{"tools":[` + fmt.Sprintf(tool, 0) + `],"nextCursor":"more"}`
	}
	return `{"tools":[` + fmt.Sprintf(tool, 0) + `]}`
}

func misbehaveCall(how, id string) {
	switch how {
	case "crash":
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(3)
	case "silent":
	case "huge":
		answer(id, `{"content":[{"type":"text","text":"`+strings.Repeat("a", 4<<20)+`"}]}`)
	case "flood":
		for range 10_000 {
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
		}
	case "garbage":
		for range 1000 {
			fmt.Println("oops")
		}
	case "nonsense":
		answer(id, `{"content":7}`)
	default:
		answer(id, `{"content":[{"type":"text","text":"fine"}]}`)
	}
}

// official is a server of the official SDK.
func official() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "official", Version: "2"}, nil)
	object := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)
	add := func(name string, f mcp.ToolHandler) {
		s.AddTool(&mcp.Tool{Name: name, Description: "Does " + name + ".", InputSchema: object}, f)
	}
	send := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	add("echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return send(string(r.Params.Arguments)), nil
	})
	add("fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res := send("no such city")
		res.IsError = true
		return res, nil
	})
	add("slow", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: "half way",
		})
		select {
		case <-ctx.Done():
			_ = os.WriteFile(os.Getenv("TEST_CANCELED"), []byte("canceled"), 0o600)
			return nil, ctx.Err()
		case <-time.After(time.Minute):
			return send("done"), nil
		}
	})
	add("learn", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		add("learned", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return send("yes"), nil })
		return send("learned it"), nil
	})
	add("image", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			StructuredContent: map[string]any{"width": 1},
			Content:           []mcp.Content{&mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"}},
		}, nil
	})
	return s
}
