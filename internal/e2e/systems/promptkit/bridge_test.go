package promptkit

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/AltairaLabs/PromptKit/runtime/a2a"
	"github.com/AltairaLabs/PromptKit/runtime/tools"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/openaitest"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// bridged returns the tools that PromptKit's bridge creates from an agent's card.
func bridged(t *testing.T, url string) map[string]*tools.ToolDescriptor {
	t.Helper()
	made, err := a2a.NewToolBridge(a2a.NewClient(url)).RegisterAgent(within(t))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*tools.ToolDescriptor{}
	for _, d := range made {
		byName[d.Name] = d
	}
	return byName
}

// executed calls a tool with PromptKit's executor and returns the response.
func executed(t *testing.T, d *tools.ToolDescriptor, args string) string {
	t.Helper()
	e := a2a.NewExecutor(a2a.WithNoRetry())
	defer e.Close()
	result, err := e.Execute(within(t), d, json.RawMessage(args))
	if err != nil {
		t.Fatalf("%s: %v", d.Name, err)
	}
	var got struct{ Response string }
	if err := json.Unmarshal(result, &got); err != nil {
		t.Fatalf("%s: %s: %v", d.Name, result, err)
	}
	return got.Response
}

// PromptKit's bridge creates a tool from each skill of the hub's agents, and its executor calls
// them. The hub's own bridge gives the same names to MCP hosts and to its models.
func TestBridge(t *testing.T) {
	t.Parallel()
	const tool = "a2a__research__search_papers"
	model := openaitest.New(t, openaitest.Config{}, openaitest.Table(
		openaitest.Case{Round: 0, Reply: openaitest.Turn{Calls: []openaitest.Call{openaitest.CallOf(tool, map[string]string{"query": "tulips"})}}},
		openaitest.Case{Round: 1, Result: "tulips", Reply: openaitest.Turn{Text: "found"}},
	))
	h := hubtest.Start(t, hubtest.Options{Config: research + fmt.Sprintf(`
  - name: thinker
    model: {provider: test, model: test, allowed_tools: ["a2a__*"]}
model_providers: [{name: test, base_url: %q}]
mcp: {bridge: true}
`, model.URL)})
	t.Run("PromptKit", func(t *testing.T) {
		made := bridged(t, h.URL()+"/a2a/research")
		d := made["a2a__research_agent__search_papers"]
		if len(made) != 2 || d == nil {
			t.Fatalf("tools %v", made)
		}
		if d.Description != "Search for academic papers on a given topic" || d.Mode != "a2a" {
			t.Errorf("tool %+v", d)
		}
		if got := executed(t, d, `{"query":"tulips"}`); got != "tulips" {
			t.Errorf("response %q", got)
		}
	})
	t.Run("MCP", func(t *testing.T) {
		client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
		s, err := client.Connect(within(t), &mcp.StreamableClientTransport{Endpoint: h.URL() + "/mcp"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		list, err := s.ListTools(within(t), nil)
		if err != nil || !slices.ContainsFunc(list.Tools, func(x *mcp.Tool) bool { return x.Name == tool }) {
			t.Fatalf("tools %+v, %v", list, err)
		}
		res, err := s.CallTool(within(t), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"query": "tulips"}})
		if err != nil || res.IsError {
			t.Fatalf("CallTool = %+v, %v", res, err)
		}
		if b, _ := json.Marshal(res.StructuredContent); !strings.Contains(string(b), "tulips") {
			t.Errorf("result %s", b)
		}
	})
	t.Run("model", func(t *testing.T) {
		task := send(t, of(h, "thinker"), user(text("papers about tulips")), a2a.TaskStateCompleted)
		if answer(task) != "found" {
			t.Errorf("artifacts %+v", task.Artifacts)
		}
		first := model.Requests()[0]
		if !first.Has(tool) || !first.Has("a2a__research__read_table") || first.Has("invoke_agent") {
			t.Errorf("the model has %+v", first.Tools)
		}
		for _, d := range first.Tools {
			if strings.Contains(d.Function.Name, "thinker") {
				t.Errorf("the model can call itself: %s", d.Function.Name)
			}
		}
	})
}

// arena is a configuration of PromptKit's mock, inside a larger file of PromptKit.
const arena = `
apiVersion: promptkit.altairalabs.ai/v1alpha1
kind: Arena
metadata: {name: weather}
spec:
  providers: []
a2a_agents:
  - name: weather
    card:
      name: Weather Desk
      description: Knows the weather
      skills: [{id: forecast, name: Forecast, description: Says how it will be, tags: [weather]}, {id: alarm, name: Alarm}]
    responses:
      - {skill: forecast, match: {contains: ROME}, response: {parts: [{text: Sunny.}, {text: All week.}]}}
      - {skill: forecast, match: {regex: "[0-9]{3}"}, response: {parts: [{text: A number.}]}}
      - {skill: alarm, error: the siren is broken}
`

// parley mock answers PromptKit's bridge and client like PromptKit's own mock, from the same
// file.
func TestMock(t *testing.T) {
	t.Parallel()
	url := mocked(t, arena, "weather")
	made := bridged(t, url)
	for query, want := range map[string]string{"in rome": "Sunny.\nAll week.", "room 123": "A number."} {
		args, _ := json.Marshal(map[string]string{"query": query})
		if got := executed(t, made["a2a__weather_desk__forecast"], string(args)); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	c := a2a.NewClient(url)
	r := user(text("x"))
	r.Message.Metadata = map[string]any{"skillId": "alarm"}
	if task := send(t, c, r, a2a.TaskStateFailed); textOf(task.Status.Message.Parts) != "the siren is broken" {
		t.Errorf("status %+v", task.Status)
	}
	r.Message.Metadata = map[string]any{"skillId": "forecast"}
	_, err := c.SendMessage(within(t), r)
	refused(t, err, -32000)
	card, err := c.Discover(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Weather Desk", "Knows the weather"}, []string{card.Name, card.Description}); diff != "" {
		t.Errorf("card (-want +got):\n%s", diff)
	}
}
