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

// library is a script of two agents' skills with answers of many words, in chunks and in parts.
const library = `
a2a_agents:
  - name: library
    card:
      name: Library
      skills:
        - {id: search_papers, name: Search Papers, description: Finds papers by a long description., tags: [papers]}
        - {id: read_table, name: Read Table, tags: [tables]}
    responses:
      - skill: search_papers
        steps:
          - artifact: {name: papers, chunks: ["Ten pap", "ers on {{text}}:\n", "the first, ", "and the last.\n"]}
          - artifact: {name: sums, parts: [{text: "Total: 10 of 12."}, {text: "Sorted by year, then by name."}]}
      - skill: read_table
        response: {parts: [{text: "town, people"}, {text: "Oslo, 700 thousand"}]}
`

// TestWholeAnswers: each skill of an agent is a tool of its own, and its answer of many words reaches
// PromptKit's executor, hosts of MCP and the hub's models alike: chunks continue each other, parts and
// artifacts are on lines of their own.
func TestWholeAnswers(t *testing.T) {
	t.Parallel()
	const query = "old tulips in Haarlem, \"Semper Augustus\" too"
	want := map[string]string{
		"search_papers": "Ten papers on " + query + ":\nthe first, and the last.\n\nTotal: 10 of 12.\nSorted by year, then by name.",
		"read_table":    "town, people\nOslo, 700 thousand",
	}
	model := openaitest.New(t, openaitest.Config{}, func(r *openaitest.Request) openaitest.Turn {
		last := &r.Messages[len(r.Messages)-1]
		if last.Role == "tool" {
			return openaitest.Turn{Text: last.Text()}
		}
		return openaitest.Turn{Calls: []openaitest.Call{openaitest.CallOf("a2a__library__"+last.Text(), map[string]string{"query": query})}}
	})
	h := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf(`
agents:
  - {name: library, url: %q, questions: suspend}
  - {name: thinker, model: {provider: test, model: test, allowed_tools: ["a2a__*"]}}
model_providers: [{name: test, base_url: %q}]
mcp: {bridge: true}
`, mocked(t, library, "library"), model.URL)})
	if out, err := h.Parley(within(t), "agents", "refresh", "library"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	made := bridged(t, h.URL()+"/a2a/library")
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	s, err := client.Connect(within(t), &mcp.StreamableClientTransport{Endpoint: h.URL() + "/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	args, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		t.Fatal(err)
	}
	for skill, want := range want {
		d := made["a2a__library__"+skill]
		if d == nil || len(made) != 2 {
			t.Fatalf("%s: the tools are %v", skill, made)
		}
		if got := executed(t, d, string(args)); got != want {
			t.Errorf("%s: PromptKit's executor gets %q, want %q", skill, got, want)
		}
		res, err := s.CallTool(within(t), &mcp.CallToolParams{Name: "a2a__library__" + skill, Arguments: json.RawMessage(args)})
		if err != nil || res.IsError {
			t.Fatalf("%s: %+v, %v", skill, res, err)
		}
		var got struct{ Response string }
		b, err := json.Marshal(res.StructuredContent)
		if err == nil {
			err = json.Unmarshal(b, &got)
		}
		if text := unquoted(got.Response); err != nil || text != want {
			t.Errorf("%s: MCP gets %q, %v, want %q", skill, text, err, want)
		}
		task := send(t, of(h, "thinker"), user(text(skill)), a2a.TaskStateCompleted)
		if err := json.Unmarshal([]byte(answer(task)), &got); err != nil || unquoted(got.Response) != want {
			t.Errorf("%s: the model gets %q, %v, want %q", skill, answer(task), err, want)
		}
	}
}

// unquoted returns an agent's text without the marks that quote it for a model.
func unquoted(text string) string {
	if _, rest, ok := strings.Cut(text, ">\n"); ok {
		text = rest
	}
	if end := strings.LastIndex(text, "\n</quoted"); end >= 0 {
		text = text[:end]
	}
	return text
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
// file. A stream has the same answers: it begins with working, and ends with the state of the task.
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
	streamed := func(skill, query string) (all []a2a.StreamEvent, states []a2a.TaskState, words string) {
		t.Helper()
		r := user(text(query))
		r.Message.Metadata = map[string]any{"skillId": skill}
		return events(t, c, r)
	}
	all, states, words := streamed("forecast", "what about Rome, in spring?")
	if words != "Sunny.All week." || !slices.Equal(states, []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateCompleted}) {
		t.Errorf("the stream has the states %q and the texts %q", states, words)
	}
	ids := map[string]bool{}
	for _, ev := range all {
		if u := ev.StatusUpdate; u != nil {
			ids[u.TaskID+" in "+u.ContextID] = true
		} else {
			ids[ev.ArtifactUpdate.TaskID+" in "+ev.ArtifactUpdate.ContextID] = true
		}
	}
	if len(ids) != 1 {
		t.Errorf("the events of one stream are of %v", ids)
	}
	all, states, _ = streamed("alarm", "x")
	if last := all[len(all)-1].StatusUpdate; last == nil || !slices.Equal(states, []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateFailed}) ||
		textOf(last.Status.Message.Parts) != "the siren is broken" {
		t.Errorf("the stream of a failure has the states %q, and ends with %+v", states, last)
	}
}
