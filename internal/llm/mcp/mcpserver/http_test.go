package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/mcp/mcpserver"
)

// startMany serves callers by the names that they send.
func startMany(t *testing.T, h *mcpserver.Handler) string {
	t.Helper()
	h.Caller = func(r *http.Request) string { return r.Header.Get("X-Caller") }
	if h.Server == nil {
		h.Server = func(r *http.Request) *mcpserver.Server {
			return &mcpserver.Server{Tools: newSource(echo), Name: r.Header.Get("X-Caller")}
		}
	}
	return startHTTP(t, h)
}

// post sends a body and returns the status, the session and the body of the answer.
func post(t *testing.T, url, name, session, body string) (status int, opened, answer string) {
	t.Helper()
	return send(t, http.MethodPost, url, name, session, body)
}

func send(t *testing.T, method, url, name, session, body string) (status int, opened, answer string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := newHTTP(t, name).Do(req)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := io.Copy(&b, resp.Body); err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	return resp.StatusCode, resp.Header.Get("Mcp-Session-Id"), b.String()
}

const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`

// The session of another caller does not exist for a caller.
func TestSessionsBelongToTheirCallers(t *testing.T) {
	t.Parallel()
	url := startMany(t, new(mcpserver.Handler))
	_, alices, answer := post(t, url, "alice", "", initialize)
	if alices == "" || !strings.Contains(answer, `"name":"alice"`) {
		t.Fatalf("alice has session %q: %s", alices, answer)
	}
	post(t, url, "bob", "", initialize)
	if status, _, got := post(t, url, "alice", alices, ping); status != http.StatusOK {
		t.Errorf("alice's ping gives %d: %s", status, got)
	}
	foreign, _, foreignText := post(t, url, "bob", alices, ping)
	missing, _, missingText := post(t, url, "bob", "NOSUCH", ping)
	if foreign != http.StatusNotFound || foreign != missing || foreignText != missingText {
		t.Errorf("a foreign session gives %d %q, a missing one %d %q", foreign, foreignText, missing, missingText)
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		if status, _, _ := send(t, method, url, "bob", alices, ""); status != http.StatusNotFound {
			t.Errorf("%s of a foreign session gives %d", method, status)
		}
	}
	if status, _, _ := send(t, http.MethodDelete, url, "alice", alices, ""); status != http.StatusNoContent {
		t.Errorf("DELETE gives %d", status)
	}
	if status, _, _ := post(t, url, "alice", alices, ping); status != http.StatusNotFound {
		t.Errorf("an ended session gives %d", status)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	url := startMany(t, &mcpserver.Handler{Server: func(*http.Request) *mcpserver.Server {
		return &mcpserver.Server{Tools: newSource(echo), Limits: mcpserver.Limits{Message: 1000}}
	}})
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{"hello", http.StatusBadRequest, "the body is not JSON"},
		{"", http.StatusBadRequest, "the body is not JSON"},
		{`{"a":"` + strings.Repeat("a", 2000) + `"}`, http.StatusRequestEntityTooLarge, "more than 1000 bytes"},
		{`{"jsonrpc":"2.0"}`, http.StatusBadRequest, ""},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, http.StatusBadRequest, `"id":1.5`},
		{`[{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}]`, http.StatusBadRequest, `"id":9007199254740993`},
	} {
		status, _, answer := post(t, url, "me", "", c.body)
		if status != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("%.40q gives %d %s, want %d %s", c.body, status, answer, c.status, c.want)
		}
	}
}

// The answer to a call begins with the call, and is alive until the tool ends. Its comments are lines
// without a blank one, after which some readers dispatch an empty event.
func TestQuietCallsAreAlive(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	quiet := tool("quiet", func(ctx context.Context, _ *llm.Call) (*llm.Result, error) {
		select {
		case <-ended:
		case <-ctx.Done():
		}
		return textResult("done"), nil
	})
	url := startMany(t, &mcpserver.Handler{KeepAlive: 10 * time.Millisecond, Server: func(*http.Request) *mcpserver.Server {
		return &mcpserver.Server{Tools: newSource(quiet)}
	}})
	_, session, _ := post(t, url, "me", "", initialize)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // a call without a head would last for ever
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"quiet"}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Session-Id", session)
	resp, err := newHTTP(t, "me").Do(req) // returns with the head
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for range 3 {
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), ":") {
			t.Fatalf("a quiet call sends %q, %v, want a comment", lines.Text(), lines.Err())
		}
	}
	close(ended)
	for lines.Scan() {
		if text := lines.Text(); strings.HasPrefix(text, "data: ") && strings.Contains(text, `"id":7`) && strings.Contains(text, "done") {
			return
		}
	}
	t.Error("the call has no result")
}

func TestLimitsOfSessions(t *testing.T) {
	t.Parallel()
	url := startMany(t, &mcpserver.Handler{Sessions: 1, Callers: 2})
	_, first, _ := post(t, url, "alice", "", initialize)
	if status, _, answer := post(t, url, "alice", "", initialize); status != http.StatusTooManyRequests {
		t.Errorf("a second session gives %d %s", status, answer)
	}
	post(t, url, "bob", "", initialize)
	if status, _, answer := post(t, url, "carol", "", initialize); status != http.StatusServiceUnavailable {
		t.Errorf("a third caller gives %d %s", status, answer)
	}
	// A caller without sessions makes room for another one.
	send(t, http.MethodDelete, url, "alice", first, "")
	if status, _, answer := post(t, url, "carol", "", initialize); status != http.StatusOK {
		t.Errorf("carol gets %d %s", status, answer)
	}
}

// Disconnected callers make room in time, before there are too many.
func TestQuietCallersAreForgotten(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	url := startMany(t, &mcpserver.Handler{Idle: time.Nanosecond, Server: func(r *http.Request) *mcpserver.Server {
		if r.Header.Get("X-Caller") == "alice" {
			return &mcpserver.Server{Tools: &runner{newSource(echo), ended}}
		}
		return &mcpserver.Server{Tools: newSource(echo)}
	}})
	_, session, _ := post(t, url, "alice", "", initialize)
	send(t, http.MethodDelete, url, "alice", session, "") // the session may have ended already
	post(t, url, "bob", "", initialize)
	receive(t, "the end of what alice had", ended)
}

// An unsupported version is refused with a list of the supported ones.
func TestUnknownVersionOverHTTP(t *testing.T) {
	t.Parallel()
	url := startMany(t, new(mcpserver.Handler))
	for _, version := range []string{"1999-01-01", "2999-01-01", "nonsense"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"`+version+`",`+
				`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": version, "Mcp-Method": "tools/list",
		} {
			req.Header.Set(name, value)
		}
		resp, err := newHTTP(t, "me").Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(b), "2025-11-25") {
			t.Errorf("version %s gives %d %s", version, resp.StatusCode, b)
		}
	}
}

// Close ends calls and streams; no further request is accepted.
func TestClose(t *testing.T) {
	t.Parallel()
	blocks, began, ended := blocks()
	h := &mcpserver.Handler{Server: func(*http.Request) *mcpserver.Server {
		return &mcpserver.Server{Tools: newSource(blocks)}
	}}
	url := startMany(t, h)
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: newHTTP(t, "me"), MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	failed := make(chan bool, 1)
	go func() { // the tool's error may reach the client before its stream is closed
		res, err := cs.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: "blocks"})
		failed <- err != nil || res.IsError
	}()
	receive(t, "the call", began)
	closed := make(chan struct{})
	go func() { defer close(closed); h.Close() }()
	receive(t, "the end of the tool", ended)
	if !receive(t, "the answer", failed) {
		t.Error("the call succeeded")
	}
	receive(t, "the end of the handler", closed)
	if status, _, _ := post(t, url, "me", "", initialize); status != http.StatusServiceUnavailable {
		t.Errorf("after Close a request gives %d", status)
	}
	_ = cs.Close()
}

// A disconnecting client changes nothing before version 2026-07-28; there, the request is the
// call.
func TestReaderGoesAway(t *testing.T) {
	t.Parallel()
	blocks, began, ended := blocks()
	url := startMany(t, &mcpserver.Handler{Server: func(*http.Request) *mcpserver.Server {
		return &mcpserver.Server{Tools: newSource(blocks)}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"blocks","_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},`+
			`"io.modelcontextprotocol/clientCapabilities":{}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "blocks",
	} {
		req.Header.Set(name, value)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		resp, err := newHTTP(t, "me").Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}()
	receive(t, "the call", began)
	cancel()
	receive(t, "the end of the tool", ended)
	receive(t, "the end of the request", gone)
}

// In version 2026-07-28 question and answer are two requests. A call waits for the second one
// for a limited time.
func TestQuestionWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	gave := make(chan error, 1)
	once := tool("once", asks.Call)
	once.Call = withResult(asks.Call, gave)
	cs := wires[5].connect(t, &mcpserver.Server{
		Tools: newSource(once), Limits: mcpserver.Limits{Patience: 10 * time.Millisecond},
	}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			receive(t, "the end of the tool", gave)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "late"}}, nil
		},
	})
	if got := call(t, cs, "once", nil); !got.IsError || !strings.Contains(text(got), "no call waits") {
		t.Errorf("a late answer gives %q", text(got))
	}
}
