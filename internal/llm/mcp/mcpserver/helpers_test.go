package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/mcp/mcpserver"
)

// patience is the longest wait of a test for an expected event.
const patience = time.Minute

// source is a Source whose tools a test sets.
type source struct {
	mu      sync.Mutex
	tools   []llm.Tool
	err     error
	changed chan struct{}
}

func newSource(tools ...llm.Tool) *source {
	return &source{tools: tools, changed: make(chan struct{})}
}

func (s *source) Tools(context.Context) ([]llm.Tool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools, s.err
}

func (s *source) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *source) set(err error, tools ...llm.Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools, s.err = tools, err
	close(s.changed)
	s.changed = make(chan struct{})
}

// tool returns a tool that calls f.
func tool(name string, f func(ctx context.Context, c *llm.Call) (*llm.Result, error)) llm.Tool {
	return llm.Tool{Name: name, Description: "Does " + name + ".", Input: json.RawMessage(`{"type":"object"}`), Call: f}
}

func textResult(text string) *llm.Result {
	return &llm.Result{Parts: []*a2a.Part{a2a.NewTextPart(text)}}
}

// echo returns its arguments.
var echo = tool("echo", func(_ context.Context, c *llm.Call) (*llm.Result, error) {
	return textResult(string(c.Arguments)), nil
})

// asks asks a question and returns the answer.
var asks = tool("asks", func(ctx context.Context, c *llm.Call) (*llm.Result, error) {
	if c.Ask == nil {
		return textResult("nobody is there"), nil
	}
	for range 2 {
		a, err := c.Ask(ctx, &llm.Question{Agent: "interview", Parts: []*a2a.Part{a2a.NewTextPart("Which city?")}})
		switch {
		case err != nil:
			return nil, err
		case a.Refused:
			return textResult("refused"), nil
		case a.Text != "again":
			return textResult("answered: " + a.Text), nil
		}
	}
	return textResult("asked too often"), nil
})

// wire is a transport with a version of the protocol.
type wire struct {
	name, version string
	http          bool
}

// wires are all combinations.
var wires = []wire{
	{"stdio-2025-06-18", "2025-06-18", false},
	{"stdio-2025-11-25", "2025-11-25", false},
	{"stdio-2026-07-28", "2026-07-28", false},
	{"http-2025-03-26", "2025-03-26", true},
	{"http-2025-11-25", "2025-11-25", true},
	{"http-2026-07-28", "2026-07-28", true},
}

// everywhere runs f over all wires.
func everywhere(t *testing.T, f func(t *testing.T, w wire)) {
	t.Helper()
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			f(t, w)
		})
	}
}

// connect starts the server and connects to it over w.
func (w wire) connect(t *testing.T, s *mcpserver.Server, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	if s.Logger == nil {
		s.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	var transport mcp.Transport
	if w.http {
		url := startHTTP(t, &mcpserver.Handler{
			Caller: func(*http.Request) string { return "me" },
			Server: func(*http.Request) *mcpserver.Server { return s },
		})
		transport = &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: newHTTP(t, ""), MaxRetries: -1}
	} else {
		in, out := startPipe(t, s)
		transport = &mcp.IOTransport{Reader: out, Writer: in}
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), transport,
		&mcp.ClientSessionOptions{ProtocolVersion: w.version})
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	if got := cs.InitializeResult().ProtocolVersion; got != w.version {
		t.Errorf("version = %s, want %s", got, w.version)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

// startHTTP serves a Handler.
func startHTTP(t *testing.T, h *mcpserver.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		srv.Close()
	})
	return srv.URL
}

// caller adds the name of its caller to each request.
type caller struct {
	http.RoundTripper

	name string
}

func (c caller) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Caller", c.name)
	return c.RoundTripper.RoundTrip(r)
}

func newHTTP(t *testing.T, name string) *http.Client {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: caller{transport, name}}
}

// startPipe serves a host, and returns its ends of the pipes.
func startPipe(t *testing.T, s *mcpserver.Server) (in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	theirIn, in := io.Pipe()
	out, theirOut := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(context.WithoutCancel(t.Context()), theirIn, theirOut) }()
	t.Cleanup(func() {
		_ = in.Close()
		_ = out.Close()
		select {
		case err := <-ended:
			if err != nil && !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(patience):
			t.Error("Serve has not ended")
		}
	})
	return in, out
}

// call calls a tool.
func call(t *testing.T, cs *mcp.ClientSession, name string, args any) *mcp.CallToolResult {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("CallTool(%s): %v", name, err)
	}
	return res
}

// text returns the texts of a result.
func text(res *mcp.CallToolResult) string {
	var all string
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			all += c.Text
		case *mcp.ResourceLink:
			all += "link " + c.Description
		}
	}
	return all
}

// receive waits for something on a channel.
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

// fakeLibrary is a Library with one resource.
type fakeLibrary struct {
	text    string
	changes chan struct{}
}

func (*fakeLibrary) Templates() []mcpserver.Template {
	return []mcpserver.Template{{URITemplate: "parley://tasks/{id}", Name: "Tasks", MIMEType: "application/json"}}
}

func (*fakeLibrary) List(_ context.Context, cursor string) ([]mcpserver.Resource, string, error) {
	if cursor == "" {
		return []mcpserver.Resource{{URI: "parley://tasks/1", Name: "task 1"}}, "more", nil
	}
	return []mcpserver.Resource{{URI: "parley://tasks/2", Name: "task 2"}}, "", nil
}

func (s *fakeLibrary) Read(_ context.Context, uri string) ([]*a2a.Part, error) {
	if uri != "parley://tasks/1" {
		return nil, mcpserver.ErrNoResource
	}
	p := a2a.NewTextPart(s.text)
	p.MediaType = "application/json"
	return []*a2a.Part{p}, nil
}

func (s *fakeLibrary) Watch(ctx context.Context, _ string) iter.Seq2[struct{}, error] {
	return func(yield func(struct{}, error) bool) {
		for {
			select {
			case <-s.changes:
				if !yield(struct{}{}, nil) {
					return
				}
			case <-ctx.Done():
				yield(struct{}{}, ctx.Err())
				return
			}
		}
	}
}

// withResult returns f with a report of its error to gave.
func withResult(
	f func(context.Context, *llm.Call) (*llm.Result, error), gave chan<- error,
) func(context.Context, *llm.Call) (*llm.Result, error) {
	return func(ctx context.Context, c *llm.Call) (*llm.Result, error) {
		res, err := f(ctx, c)
		gave <- err
		return res, err
	}
}
