package promptkit

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/AltairaLabs/PromptKit/runtime/a2a"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// At a hub with keys the card is public. Calls need a bearer token, for which PromptKit's
// client has an option.
func TestBearerToken(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-promptkit"
	h := hubtest.Start(t, hubtest.Options{Config: "auth: {api_keys: {" + token + ": {agent_id: promptkit}}}\n"})
	if _, err := of(h, "echo").Discover(within(t)); err != nil {
		t.Errorf("the card without a token: %v", err)
	}
	if task := send(t, of(h, "echo", a2a.WithAuth("Bearer", token)), user(text("x")), a2a.TaskStateCompleted); answer(task) != "x" {
		t.Errorf("artifacts %+v", task.Artifacts)
	}
	for name, options := range map[string][]a2a.ClientOption{"none": nil, "another": {a2a.WithAuth("Bearer", "another-token-entirely")}} {
		_, err := of(h, "echo", options...).SendMessage(within(t), user(text("x")))
		var status *a2a.HTTPStatusError
		if !errors.As(err, &status) || status.StatusCode != http.StatusUnauthorized {
			t.Errorf("token %s: %v", name, err)
		}
	}
	res := post(t, h, `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}}`)
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var got a2a.JSONRPCResponse
	strict(t, b, &got)
	if got.Error == nil || got.Error.Code != -32000 {
		t.Errorf("the error of a missing token: %s", b)
	}
}

// An AG-UI run of an agent starts, sends the text and finishes.
func TestAGUI(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{})
	res, err := hubtest.Do(within(t), hubtest.Request{URL: h.URL() + "/ag-ui/echo", Body: `{"threadId":"t1","runId":"r1","state":{},"messages":[{"id":"m1","role":"user","content":"hello"}],"tools":[],"context":[],"forwardedProps":{}}`})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var kinds []string
	text := ""
	for _, b := range frames(t, res) {
		var ev struct{ Type, Delta, ThreadID, RunID string }
		if err := json.Unmarshal(b, &ev); err != nil {
			t.Fatal(err)
		}
		kinds, text = append(kinds, ev.Type), text+ev.Delta
	}
	if len(kinds) < 4 || kinds[0] != "RUN_STARTED" || kinds[len(kinds)-1] != "RUN_FINISHED" || text != "hello" {
		t.Errorf("events %q with the text %q", kinds, text)
	}
}

// The official MCP client lists and calls the hub's tools.
func TestMCP(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{})
	s, err := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil).
		Connect(within(t), &mcp.StreamableClientTransport{Endpoint: h.URL() + "/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	res, err := s.CallTool(within(t), &mcp.CallToolParams{Name: "chat_with_agent", Arguments: map[string]any{"agent": "echo", "message": "hello", "done": true}})
	if err != nil || res.IsError {
		t.Fatalf("CallTool = %+v, %v", res, err)
	}
	var got struct{ Agent, Reply, State string }
	b, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	// The reply is labelled as text of another agent.
	if err != nil || got.Agent != "echo" || got.State != "completed" || !strings.Contains(got.Reply, "\nhello\n") {
		t.Errorf("%s: %v", b, err)
	}
}
