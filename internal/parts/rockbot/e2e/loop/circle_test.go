package loop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/openaitest"
)

// colours are the handlers of an agent that performs one of its skills.
func colours(handle func(*rockbotpeer.Task) (*rockbotpeer.Result, error)) map[string]func(*rockbotpeer.Task) (*rockbotpeer.Result, error) {
	return map[string]func(*rockbotpeer.Task) (*rockbotpeer.Result, error){"colours": handle}
}

// TestCircles: a conversation of two programs ends. After 20 answers, or three times the same
// question with the same answer, the task fails with the reason and a remedy.
func TestCircles(t *testing.T) {
	t.Parallel()
	address := broker(t)
	hub := hubtest.New(t, hubtest.Options{Config: fmt.Sprintf(`
rockbot: {url: %q}
questions: {answering_agent: clerk, script: answers.yaml, policy: auto}
agents:
  - {name: curious, rockbot: CuriousAgent, skills: [{id: weather}, {id: colours}, {id: general}]}
  - {name: deaf, rockbot: DeafAgent, skills: [{id: weather}, {id: colours}, {id: general}]}
`, address)})
	if err := os.WriteFile(filepath.Join(hub.Dir(), "answers.yaml"), []byte("otherwise: blue\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := hub.Start(); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	curious := rockbotpeer.StartAgent(t, address, &rockbotpeer.Agent{Name: "CuriousAgent", Skills: colours(func(t *rockbotpeer.Task) (*rockbotpeer.Result, error) {
		return t.Result(rockbotpeer.InputRequired, fmt.Sprintf("question number %d?", asked.Add(1))), nil
	})})
	deaf := rockbotpeer.StartAgent(t, address, &rockbotpeer.Agent{Name: "DeafAgent", Skills: colours(func(t *rockbotpeer.Task) (*rockbotpeer.Result, error) {
		return t.Result(rockbotpeer.InputRequired, "Which  COLOUR?"), nil
	})})
	for _, tt := range []struct {
		id, agent, want string
		peer            *rockbotpeer.Running
		requests        int
	}{
		{"B20", "curious", "has asked more than 20 questions in a row", curious, 21},
		{"B21", "deaf", "3 times in a row; put all that it needs into the request, or split the request up", deaf, 3},
	} {
		t.Run(tt.id, func(t *testing.T) {
			_, err := hub.Parley(t.Context(), "send", "--agent", tt.agent, "--skill", "colours", "go")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("the task ends with %v, want %q", err, tt.want)
			}
			if n := len(tt.peer.Tasks); n != tt.requests {
				t.Fatalf("the agent got %d requests, want %d", n, tt.requests)
			}
			first := tt.peer.Next()
			for range tt.requests - 1 {
				next := tt.peer.Next()
				if rockbotpeer.Val(next.Skill) != "colours" {
					t.Errorf("a follow-up is for the skill %q", rockbotpeer.Val(next.Skill))
				}
				same := rockbotpeer.Val(next.ContextID) == rockbotpeer.Val(first.ContextID) && next.Envelope.CorrelationID == first.Envelope.CorrelationID
				if p := next.Message.Parts; !same || len(p) != 1 || rockbotpeer.Val(p[0].Kind) != "text" || rockbotpeer.Val(p[0].Text) != "blue" {
					t.Errorf("a follow-up is %+v in %q, with the correlation id %q", p, rockbotpeer.Val(next.ContextID), next.Envelope.CorrelationID)
				}
			}
			tt.peer.Unread()
		})
	}
}

// TestDiscovery: one search finds agents and MCP servers, and a list is filtered by a skill.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	calendar := hubtest.Start(t, hubtest.Options{})
	script := func(r *openaitest.Request) openaitest.Turn {
		if r.Messages[len(r.Messages)-1].Role == "tool" {
			return openaitest.Turn{Text: r.Last("tool")}
		}
		name, arguments, _ := strings.Cut(r.Last("user"), " ")
		return openaitest.Turn{Calls: []openaitest.Call{{Name: name, Arguments: arguments}}}
	}
	w := start(t, broker(t), script, options{more: fmt.Sprintf(`
mcp_servers:
  - {name: calendar, summary: Finds free slots in calendars., url: %s/mcp}
`, calendar.URL())})
	var found struct {
		Results []struct{ ID, Type string }
	}
	ask(w, `search_known_services {"query":"a free slot in the calendar to extract structured data"}`, &found)
	kinds := make(map[string]string)
	for _, r := range found.Results {
		kinds[r.ID] = r.Type
	}
	if kinds["extractionagent"] != "a2a" || kinds["calendar"] != "mcp" {
		t.Errorf("B31: the search finds %v", kinds)
	}
	for filter, want := range map[string][]string{
		`{"skill":"Extract-Structured-Data"}`: {"extractionagent"},
		`{}`:                                  {"clock", "echo", "extractionagent", "interview", "primary", "report", "slow"},
	} {
		var list struct{ Agents []struct{ Name string } }
		ask(w, "list_known_agents "+filter, &list)
		var names []string
		for _, a := range list.Agents {
			names = append(names, a.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("B32: with %s the list has %v, want %v", filter, names, want)
		}
	}
	var got struct{ Name, Card string }
	ask(w, `get_agent_details {"agent_name":"ExtractionAgent"}`, &got)
	for _, want := range []string{w.hub.URL() + "/a2a/extractionagent", "extract-structured-data", "Reads records.", `"tags":["extract"]`, `"examples":["extract it"]`} {
		if !strings.Contains(got.Card, want) {
			t.Errorf("B33: the card has no %q: %s", want, got.Card)
		}
	}
}

// ask makes the model call a tool, and decodes its result.
func ask(w *world, call string, into any) {
	w.Helper()
	_, task := w.say(user(call, "", ""))
	text, _ := strings.CutPrefix(answer(task), "completed: ")
	if err := json.Unmarshal([]byte(text), into); err != nil {
		w.Fatalf("%s: %v: %s", call, err, text)
	}
}
