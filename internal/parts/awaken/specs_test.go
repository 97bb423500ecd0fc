package awaken

import (
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/agentfile"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/task"
)

// credentials compares credentials, whose text forms hide them.
var credentials = cmp.Comparer(func(a, b directory.Credentials) bool { return a == b })

// read reads a file of agent specs and returns the valid agents and the problems.
func read(src string) ([]directory.Spec, string) { return readWith(new(agentfile.Options), src) }

func readWith(o *agentfile.Options, src string) ([]directory.Spec, string) {
	d := yamlfile.New("dir/f.yaml", func(string) (string, bool) { return "", false })
	specs := parse(o, d, []byte(src))
	if d.Problems() == nil {
		return specs, ""
	}
	return specs, d.Problems().Error()
}

// The sample of Awaken's manual; keys about models are ignored.
func TestSpecs(t *testing.T) {
	t.Parallel()
	remote := `{ "id": "remote-researcher", "endpoint": { "backend": "a2a", "base_url": "https://remote-agent.example.com/v1/a2a", "auth": { "type": "bearer", "token": "..." }, "target": "researcher", "timeout_ms": 300000, "options": { "poll_interval_ms": 1000 } }}`
	want := directory.Spec{
		Name: "remote-researcher", Title: "remote-researcher", URL: "https://remote-agent.example.com/v1/a2a",
		Call: directory.Call{
			Target: "researcher", Timeout: 5 * time.Minute, Poll: time.Second, ReturnImmediately: true,
			Credentials: directory.Credentials{Bearer: "..."},
			Binding:     a2a.TransportProtocolHTTPJSON, Version: "1.0", Fixed: true,
		},
	}
	for src, where := range map[string]string{
		remote:             "f.yaml",
		"[" + remote + `]`: "f.yaml:1",
	} {
		want.Where = where
		got, problems := read(src)
		if diff := cmp.Diff([]directory.Spec{want}, got, credentials); diff != "" || problems != "" {
			t.Errorf("problems %q, agents (-want +got):\n%s", problems, diff)
		}
	}
}

// The options of a spec equal those of an endpoint in parley.yaml.
func TestSpecOptions(t *testing.T) {
	t.Parallel()
	spec := func(options string) string {
		return `{"id": "a", "model_id": "x", "endpoint": {"backend": "a2a", "base_url": "https://a.example", "options": {` + options + `}}}`
	}
	zero := 0
	for options, want := range map[string]directory.Spec{
		``: {Call: directory.Call{ReturnImmediately: true}},
		`"return_immediately": false, "history_length": 0`: {Call: directory.Call{HistoryLength: &zero}},
		`"no_streaming": true, "idempotent": true`:         {Streaming: new(bool), Call: directory.Call{ReturnImmediately: true, Idempotent: true}},
		`"follow_card": true, "poll_initial_ms": 5`:        {Call: directory.Call{ReturnImmediately: true, FollowCard: true, PollInitial: 5 * time.Millisecond}},
		`"poll_interval_ms": 7, "poll_max_ms": 9`:          {Call: directory.Call{ReturnImmediately: true, Poll: 7 * time.Millisecond, PollMax: 9 * time.Millisecond}},
	} {
		want.Name, want.Title, want.URL, want.Where = "a", "a", "https://a.example", "f.yaml"
		want.Call.Binding, want.Call.Version, want.Call.Fixed = a2a.TransportProtocolHTTPJSON, "1.0", true
		got, problems := read(spec(options))
		if diff := cmp.Diff([]directory.Spec{want}, got, credentials); diff != "" || problems != "" {
			t.Errorf("%s: problems %q, agents (-want +got):\n%s", options, problems, diff)
		}
	}
}

// A spec with neither endpoint nor model is reported, and the others are loaded.
func TestSpecWithoutEndpointAndModel(t *testing.T) {
	t.Parallel()
	got, problems := read(`[{"id": "local", "system_prompt": "You are …"},
{"id": "far", "endpoint": {"backend": "a2a", "base_url": "https://a.example"}}]`)
	if len(got) != 1 || got[0].Name != "far" {
		t.Errorf("agents = %+v, want far alone", got)
	}
	want := "dir/f.yaml:1: [0].model_id: is missing, and so is endpoint: an agent without an endpoint runs here, and needs a model"
	if problems != want {
		t.Errorf("problems %q, want %q", problems, want)
	}
}

// A spec with a model and without an endpoint is an agent of the hub.
func TestModelSpecs(t *testing.T) {
	t.Parallel()
	extensions := []a2a.AgentExtension{{URI: "urn:cost"}}
	got, problems := readWith(&agentfile.Options{ModelExtensions: extensions}, `
- id: Planner
  description: Plans.
  model_id: gpt-x
  system_prompt: You plan.
  max_rounds: 4
  plugin_ids: [a]
  allowed_tools: [look]
  allowed_tool_patterns: ["agent_run_*"]
  excluded_tools: [pay]
  guard: refuse
  delegates: [Weather Man, echo]
  sections: {a: b}
`)
	want := []directory.Spec{{
		Name: "planner", Title: "Planner", Description: "Plans.", Pinned: true, Where: "f.yaml:2",
		Skills:     []directory.Skill{{ID: "planner", Name: "Planner", Description: "Plans."}},
		Extensions: extensions,
		Model: &directory.Model{
			ID: "gpt-x", SystemPrompt: "You plan.", MaxRounds: 4,
			Allowed: []string{"look", "agent_run_*"}, Excluded: []string{"pay"}, Guard: "refuse", Delegates: []task.Agent{"weather-man", "echo"},
		},
	}}
	if diff := cmp.Diff(want, got, credentials); diff != "" || problems != "" {
		t.Errorf("problems %q, agents (-want +got):\n%s", problems, diff)
	}
	if _, problems := read("{id: a, model_id: b, max_rounds: -1}"); !strings.Contains(problems, `max_rounds: "-1" is not`) {
		t.Errorf("problems %q, want one about max_rounds", problems)
	}
}

// The polling times of a spec are those of its endpoint's options.
func TestPollingTimes(t *testing.T) {
	t.Parallel()
	spec := `{"id":"a","endpoint":{"backend":"a2a","base_url":"https://a.example","options":{"poll_initial_ms":250,"poll_max_ms":4000}}}`
	got, problems := read(spec)
	if problems != "" || len(got) != 1 || got[0].Call.PollInitial != 250*time.Millisecond || got[0].Call.PollMax != 4*time.Second {
		t.Errorf("agents %+v, problems %q", got, problems)
	}
}

// Problems are reported with file, line and key, and valid agents are loaded.
func TestProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		src  string
		want string // the expected problems
		left string // the names of the valid agents
	}{
		{
			"another backend", `{"id": "a", "endpoint": {"backend": "grpc", "base_url": "http://a"}}`,
			`dir/f.yaml:1: endpoint.backend: unknown backend "grpc"; must be a2a`, "",
		},
		{
			"a slip of the pen", `{"id": "a", "endpiont": {"backend": "a2a"}}`,
			"dir/f.yaml:1: endpiont: unknown key; did you mean endpoint?", "",
		},
		{"no address", "id: a\nendpoint:\n  backend: a2a\n", "dir/f.yaml:2: endpoint.base_url: is missing", ""},
		{
			"no token", `{"id": "a", "endpoint": {"backend": "a2a", "base_url": "http://a", "auth": {"type": "bearer"}}}`,
			"dir/f.yaml:1: endpoint.auth: needs token or token_env", "",
		},
	} {
		specs, problems := read(tt.src)
		if problems != tt.want {
			t.Errorf("%s: problems\n%s\nwant\n%s", tt.name, problems, tt.want)
		}
		var names []string
		for _, s := range specs {
			names = append(names, string(s.Name))
		}
		if got := strings.Join(names, " "); got != tt.left {
			t.Errorf("%s: the agents that are right are %q, want %q", tt.name, got, tt.left)
		}
	}
}

// No file makes a parser panic. Every returned agent is valid, and each problem names the file.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"id": "a", "endpoint": {"backend": "a2a", "base_url": "http://a"}}`,
		"agents: [*a]", "- - -", "? [a]\n: b", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		specs, problems := read(string(src))
		for i := range specs {
			if err := specs[i].Check(); err != nil {
				t.Errorf("%q: %v", src, err)
			}
		}
		if problems != "" && !strings.Contains(problems, "dir/f.yaml") {
			t.Errorf("%q: problems %q do not name the file", src, problems)
		}
	})
}
