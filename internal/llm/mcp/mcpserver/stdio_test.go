package mcpserver_test

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/llm/mcp/mcpserver"
)

// host sends lines to a server.
type host struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

func startHost(t *testing.T, s *mcpserver.Server) *host {
	t.Helper()
	in, out := startPipe(t, s)
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 1<<20)
	return &host{t, in, scanner}
}

// ask sends a line and returns the next line of the server.
func (h *host) ask(line string) string {
	h.t.Helper()
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		h.t.Fatalf("write: %v", err)
	}
	if !h.out.Scan() {
		h.t.Fatalf("after %.60q there is no answer: %v", line, h.out.Err())
	}
	return h.out.Text()
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// Invalid lines are answered, and reading continues.
func TestBadLines(t *testing.T) {
	t.Parallel()
	h := startHost(t, &mcpserver.Server{Tools: newSource(echo), Limits: mcpserver.Limits{Message: 500}})
	h.ask(initialize)
	for _, c := range []struct{ line, want string }{
		{"hello", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a line is not JSON"}}`},
		{`[{"jsonrpc":"2.0","id":2,"method":"ping"}]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported: send one message a line"}}`},
		{`{"a":"` + strings.Repeat("a", 600) + `"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message has more than 500 bytes"}}`},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nothing"}}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"unknown tool \"nothing\""}}`},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":1.5,"error":{"code":-32600,"message":"id: 1.5 is not an integer from -(2^53-1) to 2^53-1; use one, or a string"}}`},
		{`{"jsonrpc":"2.0","id":4,"method":"ping"}`, `{"jsonrpc":"2.0","id":4,"result":{}}`},
	} {
		if diff := cmp.Diff(c.want, h.ask(c.line)); diff != "" {
			t.Errorf("answer to %.60q mismatch (-want +got):\n%s", c.line, diff)
		}
	}
	for _, line := range []string{`{}`, `5`, `{"jsonrpc":"1.0","id":5,"method":"ping"}`, `{"jsonrpc":"2.0","id":6,"method":"no/such"}`} {
		var answer struct {
			Error struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		}
		got := h.ask(line)
		if err := json.Unmarshal([]byte(got), &answer); err != nil || answer.Error.Message == "" {
			t.Errorf("answer to %q = %s", line, got)
		}
	}
}

// An unsupported version is answered with a supported one.
func TestUnknownVersion(t *testing.T) {
	t.Parallel()
	h := startHost(t, &mcpserver.Server{Tools: newSource()})
	got := h.ask(strings.Replace(initialize, "2025-06-18", "1999-01-01", 1))
	if !strings.Contains(got, `"protocolVersion":"2025-11-25"`) {
		t.Errorf("answer = %s", got)
	}
	h = startHost(t, &mcpserver.Server{Tools: newSource()})
	got = h.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if !strings.Contains(got, "error") {
		t.Errorf("a list before the handshake gives %s", got)
	}
}
