package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// promptKit is PromptKit's own dialect: methods and states like those of v0.3, and parts
// without kinds.
const promptKit = "PromptKit"

func init() {
	languages[promptKit] = &language{
		// Its client cannot resume a stream and has no webhooks. It always waits for the
		// answer, because it omits blocking if it is false. Its streams contain no task; see
		// promptKitScenarios.
		lacks:   []string{"stream", "subscribe", "immediate", "createPush", "getPush", "listPush", "deletePush", "read"},
		request: promptKitRequest,
		result:  promptKitResult,
	}
}

func promptKitRequest(c call, _ string) any {
	p := object(plain(c.Params))
	switch c.Op {
	case "send", "stream":
		m := object(p["message"])
		m["role"] = "user"
		p["message"] = m
	case "list":
		if state, ok := p["status"].(string); ok {
			p["status"] = strings.ToLower(strings.TrimPrefix(state, "TASK_STATE_"))
		}
	}
	return p
}

func promptKitResult(op string, b json.RawMessage) (json.RawMessage, error) {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, fmt.Errorf("read %s: %w", b, err)
	}
	m := object(modern(v))
	switch op {
	case "send":
		m = obj{"task": m}
	case "stream":
		if m["artifact"] != nil {
			m = obj{"artifactUpdate": m}
		} else {
			m = obj{"statusUpdate": m}
		}
	}
	return json.Marshal(m)
}

// modern converts states and roles to the names of v1.0.
func modern(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = modern(v[i])
		}
	case map[string]any:
		for k, e := range v {
			word, _ := e.(string)
			switch k {
			case "state":
				v[k] = "TASK_STATE_" + strings.ToUpper(word)
			case "role":
				v[k] = "ROLE_" + strings.ToUpper(word)
			case "data", "metadata":
			default:
				v[k] = modern(e)
			}
		}
	}
	return v
}

// promptKitScenarios test features that only PromptKit has.
var promptKitScenarios = []scenario{
	{name: "events", group: "stream", only: promptKit, needs: "send", run: promptKitEvents},
	{name: "cancel a stream's task", group: "tasks", only: promptKit, needs: "send cancel", run: promptKitCancel},
	{name: "list of a context", group: "list", only: promptKit, needs: "list", run: promptKitList},
	{name: "skill by metadata", group: "send", only: promptKit, needs: "send", run: promptKitSkill},
	{name: "card", group: "send", only: promptKit, needs: "send", run: promptKitCard},
	{name: "tools of a card", group: "turns", only: promptKit, needs: "send", run: promptKitTools},
	{name: "executor", group: "turns", only: promptKit, needs: "send", run: promptKitExecutor},
}

func init() { scenarios = append(scenarios, promptKitScenarios...) }

// promptKitEvents checks that a stream begins with working, like that of PromptKit's server,
// and has the whole answer in chunks that append.
func promptKitEvents(c *caller) {
	var states []string
	answer := ""
	for _, ev := range c.events("echo", "stream", textMessage("one two three")) {
		if u := ev.StatusUpdate; u != nil {
			states = append(states, u.Status.State)
		}
		if u := ev.ArtifactUpdate; u != nil {
			if !u.Append || u.TaskID == "" {
				c.Errorf("artifact update %+v after %q", u, answer)
			}
			answer += text(u.Artifact.Parts)
		}
	}
	want := []string{"TASK_STATE_WORKING", "TASK_STATE_COMPLETED"}
	if diff := cmp.Diff(want, states); diff != "" || answer != "one two three" {
		c.Errorf("the stream says %q; states mismatch (-want +got):\n%s", answer, diff)
	}
}

func promptKitCancel(c *caller) {
	id, last := "", ""
	for b, err := range c.client.stream(c.ctx, call{Op: "stream", Agent: "slow", Params: textMessage("600")}) {
		if err != nil {
			c.Fatal(err)
		}
		u := decode[event](c, b).StatusUpdate
		if u == nil {
			continue
		}
		if last = u.Status.State; last == "TASK_STATE_WORKING" && id == "" {
			id = u.TaskID
			c.do("slow", "cancel", obj{"id": id})
		}
	}
	if last != "TASK_STATE_CANCELED" {
		c.Errorf("the stream ends with %q, want canceled", last)
	}
	c.wantState(c.get("slow", id), "CANCELED")
	// PromptKit's own server returns this code, and its clients know no other.
	c.refused("TASK_NOT_FOUND", call{Op: "cancel", Agent: "slow", Params: obj{"id": id}})
}

func promptKitList(c *caller) {
	done := c.send("echo", with(obj{"contextId": "travel"}, obj{"text": "a"}))
	open := c.send("interview", with(obj{"contextId": "travel"}, obj{"text": "ask 1"}))
	for agent, want := range map[string]string{"echo": done.ID, "interview": open.ID} {
		got := c.list(agent, obj{"contextId": "travel"}).Tasks
		if len(got) != 1 || got[0].ID != want {
			c.Errorf("tasks of %s in the context are %+v, want %s", agent, got, want)
		}
	}
	if got := c.list("interview", obj{"contextId": "travel", "status": "TASK_STATE_INPUT_REQUIRED"}).Tasks; len(got) != 1 {
		c.Errorf("tasks that wait are %+v, want one", got)
	}
	if got := c.list("interview", obj{"contextId": "travel", "status": "TASK_STATE_FAILED"}).Tasks; len(got) != 0 {
		c.Errorf("tasks that failed are %+v, want none", got)
	}
}

// promptKitSkill checks that the hub itself finds an agent by the skill that PromptKit puts
// into the metadata.
func promptKitSkill(c *caller) {
	c.wantState(c.send("", with(obj{"metadata": obj{"skillId": "interview"}}, obj{"text": "ask 1"})), "INPUT_REQUIRED")
	c.wantState(c.send("", textMessage("the default agent")), "COMPLETED")
}

func promptKitCard(c *caller) {
	card := decode[struct {
		Name                string
		Capabilities        struct{ Streaming bool }
		Skills              []struct{ ID, Description string }
		SupportedInterfaces []struct{ URL, ProtocolBinding, ProtocolVersion string }
	}](c, c.do("report", "card", obj{}))
	if card.Name != "report" || !card.Capabilities.Streaming || len(card.Skills) != 1 || card.Skills[0].Description == "" || len(card.SupportedInterfaces) == 0 {
		c.Errorf("PromptKit reads the card as %+v", card)
	}
}

// tool is a descriptor that PromptKit's bridge creates from a skill.
type tool struct {
	Name        string
	Description string
	InputSchema struct {
		Properties map[string]any
		Required   []string
	} `json:"input_schema"`
	Mode string
}

// tools lists the tools that the bridge creates from the card of an agent.
func (c *caller) tools(agent string) []tool {
	c.Helper()
	return decode[struct{ Tools []tool }](c, c.do(agent, "tools", obj{})).Tools
}

func promptKitTools(c *caller) {
	for agent, name := range map[string]string{"": "a2a__echo__echo", "report": "a2a__report__report", "interview": "a2a__interview__interview"} {
		got := c.tools(agent)
		if len(got) != 1 || got[0].Name != name || got[0].Description == "" || got[0].Mode != "a2a" || got[0].InputSchema.Properties["query"] == nil {
			c.Errorf("tools of %q are %+v, want %s with a description and a query", agent, got, name)
		}
	}
}

// promptKitExecutor checks an agent's output to a model of PromptKit: the executor sends one
// message and uses its result as the answer, without polling.
func promptKitExecutor(c *caller) {
	type execution struct {
		Result struct{ Response string }
		Parts  []obj
	}
	run := func(agent, tool string, args obj) execution {
		c.Helper()
		return decode[execution](c, c.do(agent, "execute", obj{"tool": tool, "args": args}))
	}
	if got := run("", "a2a__echo__echo", obj{"query": "hello out there", "trace_id": "7"}).Result.Response; got != "hello out there" {
		c.Errorf("the echo is %q", got)
	}
	if got := run("slow", "a2a__slow__slow", obj{"query": "1"}); got.Result.Response == "" {
		c.Errorf("a slow agent gives %+v, want its answer, because the executor does not ask again", got)
	}
	if got := run("interview", "a2a__interview__interview", obj{"query": "ask 1"}).Result.Response; !strings.HasSuffix(got, "?") {
		c.Errorf("the interview says %q, want its question", got)
	}
	if got := run("report", "a2a__report__report", obj{"query": "three short words"}); len(got.Parts) < 2 || !strings.Contains(fmt.Sprint(got.Parts), "image/png") {
		c.Errorf("the report has the parts %.300v, want a text and an image", got.Parts)
	}
}

// promptKitScript has only keys that PromptKit's mock has as well. YAML gives its card
// lower-case keys, so that it cannot contain compound ones.
const promptKitScript = "promptkit/testdata/agents.yaml"

// TestPromptKitMock serves one file of agents with PromptKit's mock and with parley mock, and
// checks that PromptKit's client, bridge and executor get the same results.
func TestPromptKitMock(t *testing.T) {
	t.Parallel()
	program := goModule()(t, "promptkit")
	for name, url := range map[string]string{
		"parley mock":      startMock(t),
		"PromptKit's mock": startForeign(t, "promptkit", []string{program[0], "mock", "testdata/agents.yaml", "weather"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := peer{name: "promptkit", speaks: promptKit}
			client := startProcess(t, "promptkit", []string{program[0], "client", url, "JSONRPC"})
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			c := &caller{TB: t, peer: &p, binding: "JSONRPC", client: &spoken{client: client, as: languages[promptKit]}, ctx: ctx}
			c.mocked()
		})
	}
}

// mocked checks the answers that promptKitScript defines.
func (c *caller) mocked() {
	var names []string
	for _, t := range c.tools("") {
		names = append(names, t.Name+": "+t.Description)
	}
	want := []string{"a2a__weather_desk__forecast: Says how it will be", "a2a__weather_desk__alarm: Alarm"}
	if diff := cmp.Diff(want, names); diff != "" {
		c.Errorf("tools mismatch (-want +got):\n%s", diff)
	}
	for _, tt := range []struct{ skill, query, want string }{
		{"forecast", "and in ROME?", "Sunny.\nAll week."},
		{"forecast", "room 101", "A number."},
		{"forecast", "else", "Rain."},
		{"alarm", "x", "the siren is broken"},
	} {
		b := c.do("", "execute", obj{"tool": "a2a__weather_desk__" + tt.skill, "args": obj{"query": tt.query}})
		if got := decode[struct{ Result struct{ Response string } }](c, b).Result.Response; got != tt.want {
			c.Errorf("%s, asked %q, says %q, want %q", tt.skill, tt.query, got, tt.want)
		}
	}
	c.wantState(c.send("", with(obj{"metadata": obj{"skillId": "alarm"}}, obj{"text": "x"})), "FAILED")
	t := c.send("", with(obj{"metadata": obj{"skillId": "forecast"}}, obj{"text": "x"}))
	c.wantState(t, "COMPLETED")
	if len(t.Artifacts) != 1 || text(t.Artifacts[0].Parts) != "Rain." {
		c.Errorf("artifacts are %+v, want one with the answer", t.Artifacts)
	}
	if _, err := c.client.do(c.ctx, call{Op: "send", Params: textMessage("no skill")}); err == nil {
		c.Errorf("a message that no rule is for is answered")
	}
}

// startMock serves promptKitScript with parley mock, which is stopped when the test ends.
func startMock(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(binary, "mock", promptKitScript, "--listen", "127.0.0.1:0", "--record", filepath.Join(t.TempDir(), "requests"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, wait := firstLine(out)
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("parley mock: %v", err)
		}
	})
	_, url, _ := strings.Cut(line, " at ")
	url, _, found := strings.Cut(url, "/a2a/")
	if !found {
		t.Fatalf("parley mock says %q, want its URL", line)
	}
	return url
}
