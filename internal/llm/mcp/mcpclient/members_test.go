package mcpclient_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/mcp/mcpclient"
	"github.com/parley-a2a/parley/internal/testing/jsonvalues"
)

// oddServer answers with a list of tools, and with the result whose number is an argument of the call.
type oddServer struct {
	tools   string
	results []jsonvalues.Variant
}

func (s *oddServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Arguments struct{ N int } }
	}
	_ = json.Unmarshal(body, &m)
	result := ""
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`
	case "tools/list":
		result = s.tools
	case "tools/call":
		result = s.results[m.Params.Arguments.N].JSON
	default:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

const goodTool = `{"name":"good","description":"does","inputSchema":{"type":"object"}}`

// startOdd returns a client of the server, which is ready or down with a reason.
func startOdd(t *testing.T, s *oddServer) *mcpclient.Client {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	c := &mcpclient.Client{Name: "odd", URL: srv.URL, HTTP: &http.Client{Transport: transport}}
	run(t, c)
	return c
}

// TestEveryResult calls a tool whose results have every JSON value in the place of every member. Each
// call ends with a result, and the server stays connected: others may have calls under way.
func TestEveryResult(t *testing.T) {
	t.Parallel()
	s := &oddServer{`{"tools":[` + goodTool + `]}`, jsonvalues.Variants(t, `{"content":[{"type":"text","text":"hi","annotations":{"priority":1,"audience":["user"]}},`+
		`{"type":"image","data":"QUFB","mimeType":"image/png"},{"type":"resource_link","uri":"file:///x","name":"x","size":1},`+
		`{"type":"resource","resource":{"uri":"file:///x","text":"y","mimeType":"text/plain"}}],"structuredContent":{"a":1},"isError":false,"_meta":{"k":1}}`)}
	c := startOdd(t, s)
	await(t, c, mcpclient.Ready, "")
	tool := named(t, c, "mcp__odd__good")
	for i, v := range s.results {
		res, err := tool.Call(t.Context(), &llm.Call{Arguments: fmt.Appendf(nil, `{"n":%d}`, i)})
		switch {
		case err != nil:
			t.Errorf("%s = %s: %v", v.Path, v.Value, err)
		case strings.Contains(text(res), "has ended"):
			t.Errorf("%s = %s: %q", v.Path, v.Value, text(res))
		}
	}
	if got := c.Status(); got.Starts != 1 || got.State != mcpclient.Ready {
		t.Errorf("the server was started again: %+v", got)
	}
}

// TestEveryTool lists a tool with every JSON value in the place of every member, beside a good one. The
// good one can be called, or the status of the server has the reason why it has no tools.
func TestEveryTool(t *testing.T) {
	t.Parallel()
	for _, v := range jsonvalues.Variants(t, `{"name":"odd","title":"t","description":"does","inputSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},`+
		`"outputSchema":{"type":"object"},"annotations":{"title":"t","readOnlyHint":true,"destructiveHint":false}}`) {
		t.Run(v.Path+"="+v.Value[:min(len(v.Value), 20)], func(t *testing.T) {
			t.Parallel()
			c := startOdd(t, &oddServer{`{"tools":[` + v.JSON + `,` + goodTool + `]}`, []jsonvalues.Variant{{JSON: `{"content":[{"type":"text","text":"fine"}]}`}}})
			if s := settled(t, c); s.State == mcpclient.Down {
				if !strings.Contains(s.Reason, "list tools: ") {
					t.Errorf("status = %+v", s)
				}
				return
			}
			if got := call(t, c, "mcp__odd__good", `{"n":0}`); text(got) != "fine" {
				t.Errorf("the other tool says %q", text(got))
			}
		})
	}
}

// settled waits until a client is ready or down.
func settled(t *testing.T, c *mcpclient.Client) mcpclient.Status {
	t.Helper()
	for {
		changed, s := c.StatusChanged(), c.Status()
		if s.State == mcpclient.Ready || s.State == mcpclient.Down {
			return s
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatalf("status = %+v", s)
		}
	}
}
